(* What an instruction may be near w: a polynomial, or a choice among a few, each with decisions: polynomials that are
   positive where it is taken. Off the points where a decision is 0, exactly one is taken. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool Permutation.
From Clarke Require Import Space Calculus Numbers Program Poly Rank.
Import ListNotations.
Open Scope R_scope.

(* None: nothing is known of the slot. *)
Definition entry := option poly.

(* Done: it is this. Or ds c o: c where all of ds are positive, or else what o says. End: there is no other. *)
Inductive choices := Done (x : entry) | Or (ds : list poly) (c o : choices) | End.

Fixpoint decisions c : list poly := match c with Done _ | End => [] | Or ds c o => ds ++ decisions c ++ decisions o end.
Definition ors (l : list (list poly * choices)) := fold_right (fun a o => Or (fst a) (snd a) o) End l.

(* {1 Kinks and comparisons} *)

Definition constant (b : bool) : entry := Some (if b then [(1%Q, [])] else []).
Definition same (p q : poly) := match psub p q with [] => true | _ => false end.
Definition mem z D := existsb (same z) D.
(* z < 0 or z > 0; one of the two, if it was decided before. *)
Definition fork D z lo hi := if mem z D then Done hi else if mem (pscale (-1) z) D then Done lo
  else ors [([pscale (-1) z], Done lo); ([z], Done hi)].
(* z is zero at w, and d has its sign near w; or z has a sign at w. *)
Definition by_sign D z d lo zero hi := match qsgn (pconst z) with
  | Lt => Done lo | Gt => Done hi
  | Eq => match z with [] => Done zero | _ => fork D d lo hi end end.
Definition slot (E : list entry) k := nth k E None.
Fixpoint polys (l : list nat) (E : list entry) : option (list poly) := match l with [] => Some []
  | k :: l' => match slot E k, polys l' E with Some p, Some ps => Some (p :: ps) | _, _ => None end end.
(* z without factors that are not 0 at w, if the hint has them. *)
Definition reduced (g : hint) (E : list entry) z : poly := match factored g with
  | Some (c, fs, s) => match slot E s, polys fs E with
    | Some p, Some ps => let f := fold_right pmul [(c, [])] ps in
        if same z (pmul f p) then match qsgn (pconst f) with Gt => p | Lt => pscale (-1) p | Eq => z end else z
    | _, _ => z end
  | None => z end.
Definition kink g D E i a b := match slot E i with None => Done None
  | Some z => if Qeq_bool a b then Done (Some (pscale a z))
              else by_sign D z (reduced g E z) (Some (pscale a z)) (Some []) (Some (pscale b z)) end.
Definition test D E t i j := match slot E i, slot E j with
  | Some x, Some y => by_sign D (psub x y) (psub x y) (constant (holds t Lt)) (constant (holds t Eq)) (constant (holds t Gt))
  | _, _ => Done None end.
Definition select E t k l := match slot E t with
  | Some [] => Done (slot E l)
  | Some [(c, [])] => if qz c then Done None else Done (slot E k)
  | _ => Done None end.

(* {1 The r-th largest} *)

(* Equal polynomials are one class, with their number; the first is its representative. *)
Definition class := (poly * nat)%type.
Fixpoint join p (cl : list class) : list class := match cl with
  | [] => [(p, 1%nat)] | (q, k) :: cl' => if same p q then (q, S k) :: cl' else (q, k) :: join p cl' end.
Definition group (l : list poly) : list class := fold_left (fun cl p => join p cl) l [].
Definition count (cl : list class) := fold_right (fun c s => (snd c + s)%nat) 0%nat cl.

Fixpoint splits {A} (l : list A) : list (A * list A) := match l with [] => []
  | a :: l' => (a, l') :: map (fun s => (fst s, a :: snd s)) (splits l') end.

(* From the top, or the bottom, one class after another is taken away, until the r-th is among the copies taken. *)
Fixpoint take fuel (top : bool) r (cl : list class) : choices := match cl, fuel with
  | [(p, _)], _ => Done (Some p)
  | _, O => End
  | _, S fuel' => ors (map (fun s => let '((p, k), others) := s in
      (map (fun d : class => if top then psub p (fst d) else psub (fst d) p) others,
       if top then if Nat.leb r k then Done (Some p) else take fuel' top (r - k)%nat others
       else if Nat.ltb (count others) r then Done (Some p) else take fuel' top r others)) (splits cl)) end.

Definition sign_to v p := (pconst p ?= v)%Q.
Definition highest v (ps : list poly) := filter (fun p => match sign_to v p with Gt => true | _ => false end) ps.
Definition tied v (ps : list poly) := filter (fun p => match sign_to v p with Eq => true | _ => false end) ps.
Definition lowest v (ps : list poly) := filter (fun p => match sign_to v p with Lt => true | _ => false end) ps.
Definition kth E r l := match polys l E with None => Done None | Some ps =>
  let v := kthQ r (map pconst ps) in let m := (r - length (highest v ps))%nat in let t := length (tied v ps) in
  if Nat.ltb (length (highest v ps)) r && Nat.leb m t
  then take t (Nat.leb (2 * m) (t + 1))%nat m (group (tied v ps)) else Done None end.

Fixpoint linear c (l : list (Q * nat)) (E : list entry) : entry := match l with [] => Some (term c [])
  | (q, k) :: l' => match slot E k, linear c l' E with Some p, Some s => Some (padd (pscale q p) s) | _, _ => None end end.
Definition product (x y : entry) : entry := match x, y with Some p, Some q => Some (pmul p q) | _, _ => None end.

(* The decisions that an instruction may use. *)
Definition known (g : hint) (D : list poly) := if again g then D else [].
Definition decide (g : hint) D (E : list entry) o : choices := match o with
  | Lin c l => Done (linear c l E)
  | Mul i j => Done (product (slot E i) (slot E j))
  | Kink i a b _ => kink g (known g D) E i a b
  | Kth r l _ _ => kth E r l
  | Test t i j => test (known g D) E t i j
  | Sel t k l => select E t k l end.

(* Does no path that is followed need the instruction? *)
Definition skipped (g : hint) (E : list entry) := existsb (fun t => match slot E (fst t) with
  | Some [] => snd t | Some [(_, [])] => negb (snd t) | _ => false end) (guards g).

Section Choice.
Variable n : nat.
Variable w : pt.
Notation N := (N n).
Notation at_ p y := (pval n p (sub y w)).

Definition is_at (x : entry) (v : R) (y : pt) := match x with None => True | Some p => v = at_ p y end.
Definition agree (E : list entry) (env : list R) y := Forall2 (fun x v => is_at x v y) E env.
Definition positive (D : list poly) y := Forall (fun d => 0 < at_ d y) D.
Definition nonzero (D : list poly) y := Forall (fun d => at_ d y <> 0) D.

(* At y some choice has all its decisions positive. *)
Fixpoint covers c y : Prop := match c with Done _ => True | End => False
  | Or ds c o => (positive ds y /\ covers c y) \/ covers o y end.
(* Where H holds, the number g y is that of the choice taken. *)
Fixpoint valid (H : pt -> Prop) (g : pt -> R) c : Prop := match c with
  | Done x => forall y, H y -> is_at x (g y) y
  | Or ds c o => valid (fun y => H y /\ positive ds y) g c /\ valid H g o
  | End => True end.

Lemma agree_slot E env y k : agree E env y -> is_at (slot E k) (nth k env 0) y.
Proof. intro H. unfold slot. revert k; induction H; intros [|k]; simpl; auto. Qed.

Lemma agree_some E env y k p : agree E env y -> slot E k = Some p -> nth k env 0 = at_ p y.
Proof. intros H S. pose proof (agree_slot E env y k H) as A. rewrite S in A. exact A. Qed.

Lemma valid_imp g c : forall (H H' : pt -> Prop), (forall y, H' y -> H y) -> valid H g c -> valid H' g c.
Proof.
  induction c; simpl; intros H H' I V; auto. destruct V as [A B]. split; [|eapply IHc2; eauto].
  eapply IHc1; [|exact A]. intros y [Y1 Y2]; auto.
Qed.

Lemma valid_ors H g l : (forall ds c, In (ds, c) l -> valid (fun y => H y /\ positive ds y) g c) -> valid H g (ors l).
Proof. induction l as [|[ds c] l IH]; simpl; intros A; auto. Qed.

Lemma covers_ors ds c l y : In (ds, c) l -> positive ds y -> covers c y -> covers (ors l) y.
Proof.
  induction l as [|[ds' c'] l IH]; simpl; [tauto|].
  intros [A|A] P C; [inversion A; subst; auto|right; auto].
Qed.

Lemma nonzero_app A B y : nonzero (A ++ B) y <-> nonzero A y /\ nonzero B y.
Proof. apply Forall_app. Qed.

Lemma nonzero_ors ds c l y : In (ds, c) l -> nonzero (decisions (ors l)) y -> nonzero ds y /\ nonzero (decisions c) y.
Proof.
  induction l as [|[ds' c'] l IH]; simpl; [tauto|]. intros [A|A] Z; rewrite !nonzero_app in Z.
  - inversion A; subst. intuition.
  - apply IH; intuition.
Qed.

Lemma psub_nil p q y : psub p q = [] -> at_ p y = at_ q y.
Proof. intro E. pose proof (psub_val n p q (sub y w)) as H. rewrite E in H. simpl in H. lra. Qed.

Lemma same_at p q y : same p q = true -> at_ p y = at_ q y.
Proof. unfold same. destruct (psub p q) eqn:E; try discriminate. intros _. apply psub_nil, E. Qed.

Lemma neg_at p y : at_ (pscale (-1) p) y = - at_ p y.
Proof. rewrite pscale_val, Q2R_m1. ring. Qed.

Lemma mem_at z D y : mem z D = true -> positive D y -> 0 < at_ z y.
Proof.
  intros M P. apply existsb_exists in M as [d [D1 D2]]. unfold positive in P. rewrite Forall_forall in P.
  rewrite (same_at z d y D2). auto.
Qed.

(* {1 Near w} *)

Lemma const_at p : at_ p w = Q2R (pconst p).
Proof. rewrite (pval_ext n p _ origin); [apply pconst_val|]. intros i _. unfold sub, origin. ring. Qed.

(* What is positive at w is so near it. *)
Lemma near_positive D : Forall (fun d => 0 < Q2R (pconst d)) D ->
  exists e, 0 < e /\ forall y, N (sub y w) < e -> positive D y.
Proof.
  induction 1 as [|d D Hd HD [e [E1 E2]]]; [exists 1; split; [lra|constructor]|].
  destruct (cont_sign n (fun y => at_ d y) w (poly_cont n w d w)) as [e' [E1' E2']]; [rewrite const_at; auto|].
  exists (Rmin e e'). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l e e'). pose proof (Rmin_r e e'). constructor; [apply E2'|apply E2]; lra.
Qed.

Lemma pconst_sub p q : Q2R (pconst (psub p q)) = Q2R (pconst p) - Q2R (pconst q).
Proof. rewrite <- !(pconst_val n), psub_val. reflexivity. Qed.

(* {1 Signs} *)

Section Signs.
Variables (D : list poly) (lo zero hi : entry) (g : pt -> R).
Definition near e (H : pt -> Prop) y := N (sub y w) < e /\ H y.

Lemma fork_valid z (H : pt -> Prop) : (forall y, H y -> positive D y) ->
  (forall y, H y -> at_ z y < 0 -> is_at lo (g y) y) -> (forall y, H y -> 0 < at_ z y -> is_at hi (g y) y) ->
  valid H g (fork D z lo hi).
Proof.
  intros HD L U. unfold fork. destruct (mem z D) eqn:M1; [|destruct (mem (pscale (-1) z) D) eqn:M2].
  - simpl. intros y Y. apply U; auto. apply (mem_at z D); auto.
  - simpl. intros y Y. apply L; auto. pose proof (mem_at _ D y M2 (HD y Y)) as P. rewrite neg_at in P. lra.
  - simpl. repeat split; auto; intros y [Y P]; inversion P; subst; [apply L|apply U]; auto.
    rewrite neg_at in *. lra.
Qed.

Lemma fork_covers z y : nonzero (decisions (fork D z lo hi)) y -> covers (fork D z lo hi) y.
Proof.
  unfold fork. destruct (mem z D); [simpl; auto|]. destruct (mem _ D); [simpl; auto|]. simpl. intro Z.
  inversion Z as [|? ? A _]; subst. rewrite neg_at in A.
  destruct (Rlt_dec (at_ z y) 0); [left|right; left]; split; auto; constructor; auto; try rewrite neg_at; lra.
Qed.

Lemma by_sign_valid z d (H : pt -> Prop) : (forall y, H y -> positive D y) ->
  (exists e, 0 < e /\ forall y, N (sub y w) < e -> (at_ d y < 0 -> at_ z y < 0) /\ (0 < at_ d y -> 0 < at_ z y)) ->
  (forall y, H y -> at_ z y < 0 -> is_at lo (g y) y) -> (forall y, H y -> at_ z y = 0 -> is_at zero (g y) y) ->
  (forall y, H y -> 0 < at_ z y -> is_at hi (g y) y) ->
  exists e, 0 < e /\ valid (near e H) g (by_sign D z d lo zero hi).
Proof.
  intros HD [e [E1 E2]] L Z U. unfold by_sign. pose proof (qsgn_spec (pconst z)) as S. destruct (qsgn (pconst z)).
  - exists e. split; auto. destruct z as [|t z'] eqn:Ez.
    + simpl. intros y [_ Y]. apply Z; auto.
    + rewrite <- Ez in *. apply fork_valid; intros y [Y1 Y2]; auto; intro S'; destruct (E2 y Y1); auto.
  - destruct (near_positive [pscale (-1) z]) as [e' [E1' E2']].
    { repeat constructor. rewrite <- (pconst_val n), pscale_val, pconst_val, Q2R_m1. lra. }
    exists e'. split; auto. simpl. intros y [Y1 Y2]. apply L; auto. specialize (E2' y Y1). inversion E2'; subst.
    rewrite neg_at in *. lra.
  - destruct (near_positive [z]) as [e' [E1' E2']]; [repeat constructor; auto|].
    exists e'. split; auto. simpl. intros y [Y1 Y2]. apply U; auto. specialize (E2' y Y1). inversion E2'; subst. auto.
Qed.

Lemma by_sign_covers z d y : nonzero (decisions (by_sign D z d lo zero hi)) y -> covers (by_sign D z d lo zero hi) y.
Proof.
  unfold by_sign. destruct (qsgn (pconst z)); [|simpl; auto|simpl; auto].
  destruct z; [simpl; auto|apply fork_covers].
Qed.
End Signs.

Lemma same_sign z : exists e, 0 < e /\ forall y, N (sub y w) < e ->
  (at_ z y < 0 -> at_ z y < 0) /\ (0 < at_ z y -> 0 < at_ z y).
Proof. exists 1. split; [lra|auto]. Qed.

(* What is left without the factors has the sign of z near w. *)
Lemma reduced_sign g E z : exists e, 0 < e /\ forall y, N (sub y w) < e ->
  (at_ (reduced g E z) y < 0 -> at_ z y < 0) /\ (0 < at_ (reduced g E z) y -> 0 < at_ z y).
Proof.
  unfold reduced. destruct (factored g) as [[[c fs] s]|]; [|apply same_sign]. destruct (slot E s) as [p|]; [|apply same_sign].
  destruct (polys fs E) as [ps|]; [|apply same_sign]. set (f := fold_right pmul [(c, [])] ps).
  destruct (same z (pmul f p)) eqn:S; [|apply same_sign]. pose proof (qsgn_spec (pconst f)) as Sf.
  assert (Z : forall y, at_ z y = at_ f y * at_ p y) by (intro y; rewrite (same_at _ _ y S); apply pmul_val).
  destruct (qsgn (pconst f)); [apply same_sign| |].
  - destruct (near_positive [pscale (-1) f]) as [e [E1 E2]].
    { repeat constructor. rewrite <- (pconst_val n), pscale_val, pconst_val, Q2R_m1. lra. }
    exists e. split; auto. intros y Hy. specialize (E2 y Hy). inversion E2; subst. rewrite neg_at in *. rewrite Z. split;
      intro; nra.
  - destruct (near_positive [f]) as [e [E1 E2]]; [repeat constructor; auto|].
    exists e. split; auto. intros y Hy. specialize (E2 y Hy). inversion E2; subst. rewrite Z. split; intro; nra.
Qed.

(* {1 Order} *)

Lemma splits_perm {A} (l : list A) a r : In (a, r) (splits l) -> Permutation l (a :: r).
Proof.
  revert a r; induction l as [|b l IH]; simpl; intros a r; [tauto|]. intros [H|H]; [inversion H; subst; auto|].
  apply in_map_iff in H as [[a' r'] [H1 H2]]. inversion H1; subst.
  eapply perm_trans; [apply perm_skip, (IH a r' H2)|]. apply perm_swap.
Qed.

Lemma splits_length {A} (l : list A) a r : In (a, r) (splits l) -> length l = S (length r).
Proof. intro H. apply splits_perm in H. apply Permutation_length in H. exact H. Qed.

(* One of the entries is at least all others. *)
Lemma splits_best {A} (f : A -> R) l : l <> [] -> exists a r, In (a, r) (splits l) /\ forall d, In d r -> f d <= f a.
Proof.
  induction l as [|a l IH]; intros H; [congruence|]. destruct l as [|b l].
  - exists a, []. simpl; split; auto. intros d [].
  - destruct IH as [c [r [C1 C2]]]; [congruence|]. destruct (Rlt_dec (f a) (f c)) as [K|K].
    + exists c, (a :: r). split.
      * right. apply in_map_iff. exists (c, r). auto.
      * intros d [E|E]; [subst; lra|auto].
    + exists a, (b :: l). split; [left; auto|]. intros d Hd.
      apply splits_perm in C1. apply (Permutation_in d C1) in Hd as [E|E]; [subst; lra|]. specialize (C2 d E). lra.
Qed.

Definition values (cl : list class) y := flat_map (fun c : class => repeat (at_ (fst c) y) (snd c)) cl.

Lemma values_perm cl cl' y : Permutation cl cl' -> Permutation (values cl y) (values cl' y).
Proof.
  intro P. unfold values. induction P; simpl; auto.
  - apply Permutation_app_head; auto.
  - rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
  - eapply perm_trans; eauto.
Qed.

Lemma count_values cl y : length (values cl y) = count cl.
Proof. induction cl as [|[p k] cl IH]; simpl; auto. rewrite app_length, repeat_length, IH. auto. Qed.

Lemma count_perm cl cl' : Permutation cl cl' -> count cl = count cl'.
Proof. intro P. rewrite <- (count_values cl w), <- (count_values cl' w). apply Permutation_length, values_perm, P. Qed.

Lemma join_values p cl y : Permutation (values (join p cl) y) (at_ p y :: values cl y).
Proof.
  induction cl as [|[q k] cl IH]; simpl; auto. destruct (same p q) eqn:E.
  - rewrite (same_at p q y E). simpl. auto.
  - simpl. eapply perm_trans; [apply Permutation_app_head, IH|].
    eapply perm_trans; [apply Permutation_app_comm|]. simpl. apply perm_skip, Permutation_app_comm.
Qed.

Lemma group_values l y : Permutation (values (group l) y) (map (fun p => at_ p y) l).
Proof.
  unfold group. assert (G : forall cl, Permutation (values (fold_left (fun cl p => join p cl) l cl) y)
    (map (fun p => at_ p y) l ++ values cl y)).
  { induction l as [|p l IH]; intros cl; simpl; auto. eapply perm_trans; [apply IH|].
    eapply perm_trans; [apply Permutation_app_head, join_values|].
    apply Permutation_sym, Permutation_middle. }
  specialize (G []). simpl in G. rewrite app_nil_r in G. exact G.
Qed.

(* The values of classes that are all on one side of v. *)
Lemma values_bound (Q : R -> Prop) cl y : (forall d, In d cl -> Q (at_ (fst d) y)) -> forall z, In z (values cl y) -> Q z.
Proof.
  intros H z Hz. apply in_flat_map in Hz as [d [D1 D2]]. apply repeat_spec in D2. subst. auto.
Qed.

Lemma take_valid fuel : forall top r cl (H : pt -> Prop) g, (1 <= r <= count cl)%nat ->
  (forall y x, H y -> is_kth r (values cl y) x -> g y = x) -> valid H g (take fuel top r cl).
Proof.
  induction fuel as [|fuel IH]; intros top r cl H g Hr V; (destruct cl as [|[p k] [|c2 cl]]; [simpl in Hr; lia| |]).
  - simpl. intros y Y. apply (V y); auto. simpl. apply kth_first; [simpl in Hr; lia|intros z []].
  - exact I.
  - simpl. intros y Y. apply (V y); auto. simpl. apply kth_first; [simpl in Hr; lia|intros z []].
  - cbn [take]. cbn [count fold_right snd] in Hr. fold (count cl) in Hr. set (cl' := (p, k) :: c2 :: cl) in *.
    apply valid_ors. intros ds c Hin.
    apply in_map_iff in Hin as [[[q m] others] [E1 E2]]. inversion E1; subst; clear E1.
    pose proof (splits_perm _ _ _ E2) as Pm. pose proof (count_perm _ _ Pm) as Ct. simpl in Ct.
    assert (Kth : forall y x r', is_kth r' (repeat (at_ q y) m ++ values others y) x -> is_kth r' (values cl' y) x).
    { intros y x r' K. apply (is_kth_perm _ _ _ _ (Permutation_sym (values_perm _ _ y Pm)) K). }
    destruct top.
    + assert (Top : forall y, positive (map (fun d : class => psub q (fst d)) others) y ->
        forall z, In z (values others y) -> z <= at_ q y).
      { intros y P. apply values_bound. intros d Hd. unfold positive in P. rewrite Forall_forall in P.
        specialize (P _ (in_map _ _ _ Hd)). cbv beta in P. cbn [fst] in P. rewrite psub_val in P. left.
          apply Rminus_gt_0_lt, P. }
      destruct (Nat.leb_spec r m).
      * simpl. intros y [Y P]. apply (V y); auto. apply Kth, kth_first; [lia|]. exact (Top y P).
      * apply IH; [lia|]. intros y x [Y P] K. apply (V y); auto. apply Kth.
        replace r with (length (repeat (at_ q y) m) + (r - m))%nat by (rewrite repeat_length; lia).
        apply kth_top; auto. intros a z Ha Hz. apply repeat_spec in Ha. subst a. apply (Top y P z Hz).
    + assert (Bottom : forall y, positive (map (fun d : class => psub (fst d) q) others) y ->
        forall z, In z (values others y) -> at_ q y <= z).
      { intros y P. apply values_bound. intros d Hd. unfold positive in P. rewrite Forall_forall in P.
        specialize (P _ (in_map _ _ _ Hd)). cbv beta in P. cbn [fst] in P. rewrite psub_val in P. left.
          apply Rminus_gt_0_lt, P. }
      destruct (Nat.ltb_spec (count others) r).
      * simpl. intros y [Y P]. apply (V y); auto. apply Kth, kth_last; [rewrite count_values; lia|]. exact (Bottom y P).
      * apply IH; [lia|]. intros y x [Y P] K. apply (V y); auto. apply Kth.
        apply kth_bottom; auto. intros a z Ha Hz. apply repeat_spec in Ha. subst a. apply (Bottom y P z Hz).
Qed.

Lemma take_covers fuel : forall top r cl y, cl <> [] -> (length cl <= fuel)%nat ->
  nonzero (decisions (take fuel top r cl)) y -> covers (take fuel top r cl) y.
Proof.
  induction fuel as [|fuel IH]; intros top r cl y H L Z; (destruct cl as [|[p k] [|c2 cl]]; [congruence|exact I|]);
    [simpl in L; lia|].
  cbn [take] in *. set (cl' := (p, k) :: c2 :: cl) in *.
  set (s := if top then 1 else -1).
  destruct (splits_best (fun c : class => s * at_ (fst c) y) cl') as [[q m] [others [B1 B2]]]; [discriminate|].
  pose proof (splits_length _ _ _ B1) as Len.
  assert (Ne : others <> []) by (intro; subst others; discriminate).
  match goal with |- covers (ors (map ?f _)) _ => pose proof (in_map f _ _ B1) as In1 end. cbv beta iota in In1.
  destruct (nonzero_ors _ _ _ y In1 Z) as [Z1 Z2]. apply (covers_ors _ _ _ y In1).
  - unfold positive, nonzero in *. rewrite Forall_forall in Z1 |- *. intros d Hd. specialize (Z1 d Hd).
    apply in_map_iff in Hd as [e [E1 E2]]. subst d. specialize (B2 e E2). cbn [fst] in B2.
    destruct top; rewrite psub_val in *; unfold s in B2; lra.
  - destruct top; [destruct (Nat.leb r m)|destruct (Nat.ltb (count others) r)]; try exact I; apply IH; auto;
      unfold cl' in Len; simpl in L, Len; lia.
Qed.

Lemma polys_values l E ps env y : polys l E = Some ps -> agree E env y ->
  map (fun k => nth k env 0) l = map (fun p => at_ p y) ps.
Proof.
  revert ps; induction l as [|k l IH]; simpl; intros ps H A; [inversion H; auto|].
  destruct (slot E k) as [p|] eqn:S; try discriminate. destruct (polys l E) as [qs|]; try discriminate.
  inversion H; subst. simpl. rewrite (agree_some E env y k p A S), (IH qs); auto.
Qed.

(* A list is what is above v at w, what is v, and what is below. *)
Lemma three_parts {A} (f : A -> comparison) l : Permutation l
  (filter (fun p => match f p with Gt => true | _ => false end) l ++
   filter (fun p => match f p with Lt => true | _ => false end) l ++
   filter (fun p => match f p with Eq => true | _ => false end) l).
Proof.
  induction l as [|a l IH]; simpl; auto. destruct (f a); simpl.
  - rewrite app_assoc in IH |- *. apply Permutation_cons_app, IH.
  - apply Permutation_cons_app, IH.
  - apply perm_skip, IH.
Qed.

Lemma pair_near (A B : list poly) : (forall a b, In a A -> In b B -> Q2R (pconst b) < Q2R (pconst a)) ->
  exists e, 0 < e /\ forall y, N (sub y w) < e -> forall a b, In a A -> In b B -> at_ b y < at_ a y.
Proof.
  intro H. destruct (near_positive (flat_map (fun a => map (psub a) B) A)) as [e [E1 E2]].
  - apply Forall_forall. intros d Hd. apply in_flat_map in Hd as [a [Ha Hd]]. apply in_map_iff in Hd as [b [Hd Hb]].
    subst d. rewrite pconst_sub. specialize (H a b Ha Hb). lra.
  - exists e. split; auto. intros y Hy a b Ha Hb. specialize (E2 y Hy). unfold positive in E2. rewrite Forall_forall in E2.
    assert (K : In (psub a b) (flat_map (fun a => map (psub a) B) A)) by (apply in_flat_map; exists a; split; auto;
      apply in_map; auto).
    specialize (E2 _ K). rewrite psub_val in E2. lra.
Qed.

Lemma kth_valid E r l u beta env (H : pt -> Prop) : (forall y, H y -> agree E (env y) y) ->
  exists e, 0 < e /\ valid (near e H) (fun y => stepR (env y) (Kth r l u beta)) (kth E r l).
Proof.
  intro HA. assert (Trivial : exists e, 0 < e /\ valid (near e H) (fun y => stepR (env y) (Kth r l u beta)) (Done None)).
  { exists 1. split; [lra|]. simpl; auto. }
  unfold kth. destruct (polys l E) as [ps|] eqn:HP; auto.
  set (v := kthQ r (map pconst ps)). set (hs := highest v ps). set (ts := tied v ps). set (ls := lowest v ps).
  destruct (Nat.ltb_spec (length hs) r) as [B1|]; auto.
  destruct (Nat.leb_spec (r - length hs) (length ts)) as [B2|]; auto. cbn [andb].
  assert (Cmp : forall p, match sign_to v p with
    Lt => Q2R (pconst p) < Q2R v | Eq => Q2R (pconst p) = Q2R v | Gt => Q2R v < Q2R (pconst p) end).
  { intros p. unfold sign_to. destruct (Qcompare_spec (pconst p) v); [apply Qeq_eqR|apply Qlt_Rlt|apply Qlt_Rlt]; auto. }
  assert (Hh : forall p, In p hs -> Q2R v < Q2R (pconst p)).
  { intros p Hp. apply filter_In in Hp as [_ Hp]. specialize (Cmp p). destruct (sign_to v p); try discriminate; auto. }
  assert (Ht : forall p, In p ts -> Q2R (pconst p) = Q2R v).
  { intros p Hp. apply filter_In in Hp as [_ Hp]. specialize (Cmp p). destruct (sign_to v p); try discriminate; auto. }
  assert (Hl : forall p, In p ls -> Q2R (pconst p) < Q2R v).
  { intros p Hp. apply filter_In in Hp as [_ Hp]. specialize (Cmp p). destruct (sign_to v p); try discriminate; auto. }
  destruct (pair_near hs (ls ++ ts)) as [e1 [E1 F1]].
  { intros a b Ha Hb. specialize (Hh a Ha). apply in_app_or in Hb as [Hb|Hb]; [specialize (Hl b Hb)|specialize (Ht b Hb)];
    lra. }
  destruct (pair_near ts ls) as [e2 [E2 F2]]; [intros a b Ha Hb; rewrite (Ht a Ha); auto|].
  exists (Rmin e1 e2). split; [apply Rmin_glb_lt; auto|]. apply take_valid.
  - assert (C : count (group ts) = length ts).
    { rewrite <- (count_values _ w), (Permutation_length (group_values ts w)), map_length. auto. }
    rewrite C. lia.
  - intros y x [Y1 Y2] K. simpl. rewrite (polys_values l E ps (env y) y HP (HA y Y2)). apply is_kth_kthR.
    pose proof (Rmin_l e1 e2). pose proof (Rmin_r e1 e2).
    apply (is_kth_perm _ _ _ _ (group_values ts y)) in K.
    apply (is_kth_perm _ (map (fun p => at_ p y) hs ++ map (fun p => at_ p y) ls ++ map (fun p => at_ p y) ts)).
    + rewrite <- !map_app. apply Permutation_map, Permutation_sym. apply (three_parts (sign_to v)).
    + replace r with (length (map (fun p => at_ p y) hs) + (r - length hs))%nat by (rewrite map_length; lia).
      apply kth_top.
      * intros a z Ha Hz. rewrite <- map_app in Hz. apply in_map_iff in Ha as [a' [Ha1 Ha2]].
        apply in_map_iff in Hz as [z' [Hz1 Hz2]].
        subst. left. apply F1; auto; lra.
      * apply kth_bottom; auto. intros a z Ha Hz. apply in_map_iff in Ha as [a' [Ha1 Ha2]].
        apply in_map_iff in Hz as [z' [Hz1 Hz2]].
        subst. left. apply F2; auto; lra.
Qed.

Lemma join_length p cl : (1 <= length (join p cl) <= S (length cl))%nat.
Proof. induction cl as [|[q k] cl IH]; simpl; [lia|]. destruct (same p q); simpl; lia. Qed.

Lemma group_length l : l <> [] -> group l <> [] /\ (length (group l) <= length l)%nat.
Proof.
  unfold group. intro H. assert (G : forall cl, (length (fold_left (fun cl p =>
    join p cl) l cl) <= length l + length cl)%nat /\
    (1 <= length (fold_left (fun cl p => join p cl) l cl) \/ (l = [] /\ cl = []))%nat).
  { clear H. induction l as [|p l IH]; intros cl; simpl.
    - split; [lia|]. destruct cl; simpl; [auto|left; lia].
    - destruct (IH (join p cl)) as [A B]. pose proof (join_length p cl). split; [lia|].
      destruct B as [B|[_ B]]; [auto|]. rewrite B in H. simpl in H. lia. }
  destruct (G []) as [A [B|[B _]]]; [|congruence]. simpl in A. split; [|lia].
  intro E. rewrite E in B. simpl in B. lia.
Qed.

Lemma kth_covers E r l y : nonzero (decisions (kth E r l)) y -> covers (kth E r l) y.
Proof.
  unfold kth. destruct (polys l E) as [ps|]; [|simpl; auto].
  set (v := kthQ r (map pconst ps)). set (hs := highest v ps). set (ts := tied v ps).
  destruct (Nat.ltb_spec (length hs) r) as [B1|]; [|simpl; auto].
  destruct (Nat.leb_spec (r - length hs) (length ts)) as [B2|]; [|simpl; auto]. cbn [andb].
  destruct (group_length ts) as [G1 G2]; [intro K; rewrite K in B2; simpl in B2; lia|].
  apply take_covers; auto.
Qed.

(* {1 Every instruction} *)

Lemma linear_at c l E env y : agree E env y -> is_at (linear c l E) (linR c l env) y.
Proof.
  intro A. induction l as [|[q k] l IH]; simpl.
  - rewrite term_val. simpl. ring.
  - destruct (slot E k) as [p|] eqn:S; simpl; auto. destruct (linear c l E) as [s|]; simpl in *; auto.
    rewrite padd_val, pscale_val, IH, (agree_some E env y k p A S). ring.
Qed.

Lemma product_at E env y i j : agree E env y -> is_at (product (slot E i) (slot E j)) (nth i env 0 * nth j env 0) y.
Proof.
  intro A. destruct (slot E i) as [p|] eqn:Si; simpl; auto. destruct (slot E j) as [q|] eqn:Sj; simpl; auto.
  rewrite pmul_val, (agree_some E env y i p A Si), (agree_some E env y j q A Sj). auto.
Qed.

Lemma constant_at b y : is_at (constant b) (if b then 1 else 0) y.
Proof. destruct b; simpl; [rewrite Q2R_1|]; ring. Qed.

Lemma kinkR_slope a b z : Q2R a = Q2R b -> kinkR a b z = Q2R a * z.
Proof. intro E. unfold kinkR. rewrite E. destruct (Rlt_dec z 0); auto. Qed.

Theorem decide_valid g D E o env (H : pt -> Prop) : (forall y, H y -> agree E (env y) y) -> (forall y, H y -> positive D y) ->
  exists e, 0 < e /\ valid (near e H) (fun y => stepR (env y) o) (decide g D E o).
Proof.
  intros HA HD0. assert (HD : forall y, H y -> positive (known g D) y).
  { intros y Y. unfold known. destruct (again g); [auto|constructor]. }
  destruct o as [c l|i j|i a b p|r l u beta|t i j|t k l]; simpl decide.
  - exists 1. split; [lra|]. simpl. intros y [_ Y]. apply linear_at; auto.
  - exists 1. split; [lra|]. simpl. intros y [_ Y]. apply product_at; auto.
  - unfold kink. destruct (slot E i) as [z|] eqn:Si; [|exists 1; split; [lra|simpl; auto]].
    assert (Z : forall y, H y -> nth i (env y) 0 = at_ z y) by (intros y Y; apply (agree_some E); auto).
    destruct (Qeq_bool a b) eqn:Q.
    + exists 1. split; [lra|]. simpl. intros y [_ Y]. rewrite Z by auto. rewrite kinkR_slope by (apply Qeq_bool_R, Q).
      rewrite pscale_val. auto.
    + apply by_sign_valid; auto using reduced_sign; intros y Y S; simpl; rewrite Z by auto; rewrite ?pscale_val; unfold kinkR;
        destruct (Rlt_dec _ 0); try lra; auto. rewrite S. simpl. ring.
  - apply kth_valid; auto.
  - unfold test. destruct (slot E i) as [x|] eqn:Si; [|exists 1; split; [lra|simpl; auto]].
    destruct (slot E j) as [z|] eqn:Sj; [|exists 1; split; [lra|simpl; auto]].
    assert (X : forall y, H y -> nth i (env y) 0 = at_ x y) by (intros y Y; apply (agree_some E); auto).
    assert (Z : forall y, H y -> nth j (env y) 0 = at_ z y) by (intros y Y; apply (agree_some E); auto).
    apply by_sign_valid; auto using same_sign; intros y Y S; rewrite psub_val in S; cbn [stepR]; rewrite X, Z by auto;
      unfold compareR; destruct (Rlt_dec (at_ x y) (at_ z y)); try lra; try apply constant_at;
      destruct (Rlt_dec (at_ z y) (at_ x y)); try lra; apply constant_at.
  - exists 1. split; [lra|]. unfold select. destruct (slot E t) as [p|] eqn:St; [|simpl; auto].
    destruct p as [|[c [|m ms]] [|s p]]; try (simpl; auto; fail).
    + simpl. intros y [_ Y]. rewrite (agree_some E (env y) y t [] (HA y Y) St). simpl.
      destruct (Req_EM_T 0 0); [|congruence]. apply agree_slot; auto.
    + destruct (qz c) eqn:Zc; [simpl; auto|]. simpl. intros y [_ Y].
      rewrite (agree_some E (env y) y t _ (HA y Y) St). simpl. apply qz_false in Zc.
      destruct (Req_EM_T _ 0); [lra|]. apply agree_slot; auto.
Qed.

Theorem decide_covers g D E o y : nonzero (decisions (decide g D E o)) y -> covers (decide g D E o) y.
Proof.
  destruct o; simpl decide; try (simpl; auto; fail).
  - unfold kink. destruct (slot E i); [|simpl; auto]. destruct (Qeq_bool a b); [simpl; auto|apply by_sign_covers].
  - apply kth_covers.
  - unfold test. destruct (slot E i); [|simpl; auto]. destruct (slot E j); [|simpl; auto]. apply by_sign_covers.
  - unfold select. destruct (slot E t) as [[|[c [|m ms]] [|s p]]|]; try (simpl; auto; fail). destruct (qz c); simpl; auto.
Qed.
End Choice.
