(* Trees: what may happen near w, choice by choice. A branch that no point follows is dead: a combination of decisions,
   all positive there, is nowhere positive. Leaves are the polynomials that F is elsewhere. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Program Poly Choice Arc.
Import ListNotations.
Open Scope R_scope.

Inductive tree := Leaf | Dead (l : list (nat * Q)) | Branch (l : list tree).

Fixpoint combination (D : list poly) (l : list (nat * Q)) : option poly := match l with [] => Some []
  | (k, c) :: l' => match nth_error D k, combination D l' with
    | Some d, Some h => if qpos c then Some (padd (pscale c d) h) else None
    | _, _ => None end end.
Definition closes D l := match l with [] => false | _ => match combination D l with
  | Some h => nowhere_positive h | None => false end end.

(* A decision that is its linear part times f, f > 0 at w, has the sign of its linear part near w. f is found by long
   division in the variable k, whose coefficient is c. What is found is checked. *)
Definition power k (m : mono) := length (filter (Nat.eqb k) m).
Fixpoint without k (m : mono) : mono := match m with [] => [] | i :: m' => if Nat.eqb k i then m' else i :: without k m' end.
Definition leading k (p : poly) : option (Q * mono) := fold_left (fun best t =>
  if Nat.ltb (match best with Some b => power k (snd b) | None => 0%nat end) (power k (snd t)) then Some t else best) p None.
Fixpoint quotient fuel (p l : poly) k c : poly := match fuel with O => [] | S fuel' => match leading k p with
  | Some (a, m) => let b := qmul a (Qinv c) in
      padd [(b, without k m)] (quotient fuel' (psub p (mtimes b (without k m) l)) l k c)
  | None => [] end end.
Definition straight (d : poly) : poly := let l := filter (fun t => Nat.eqb (length (snd t)) 1) d in match l with
  | (c, [k]) :: _ => let f := quotient (10 * length d + 40) d l k c in if same d (pmul f l) && qpos (pconst f) then l else d
  | _ => d end.
Definition dead D l := closes D l || closes (map straight D) l.

Section Walk.
Variable n : nat.
Variable outs : list nat.
(* Points, one of which shows that a decision is not 0 everywhere. Hints. *)
Variable tests : list (list Q).
Variable leaf : list poly -> bool.

Definition somewhere d := existsb (fun z => negb (qz (pvalQ n d z))) tests.

Fixpoint resolve c (T : tree) (D : list poly) (k : entry -> tree -> list poly -> bool) : bool := match c with
  | Done x => k x T D
  | End => false
  | Or ds c o => match T with
    | Dead l => dead D l
    | Branch (t :: ts) => resolve c t (D ++ ds) k &&
        match o, ts with End, [] => true | End, _ => false | _, _ => resolve o (Branch ts) D k end
    | _ => false end end.
Fixpoint walk (P : program) (T : tree) (D : list poly) (E : list entry) : bool := match T with Dead l => dead D l
  | _ => match P with
    | [] => match T, polys outs E with Leaf, Some ps => leaf ps | _, _ => false end
    | (g, o) :: P' => if skipped g E then walk P' T D (E ++ [None])
      else forallb somewhere (decisions (decide g D E o)) &&
           resolve (decide g D E o) T D (fun x T' D' => walk P' T' D' (E ++ [x])) end end.

Variable w : pt.
Notation N := (N n).
Notation at_ p y := (pval n p (sub y w)).

Lemma combination_at D y : positive n w D y -> forall l h, combination D l = Some h ->
  0 <= at_ h y /\ (l <> [] -> 0 < at_ h y).
Proof.
  intros HD. induction l as [|[k c] l IH]; simpl; intros h H; [inversion H; subst; simpl; split; [lra|congruence]|].
  destruct (nth_error D k) as [d|] eqn:Hk; try discriminate. destruct (combination D l) as [h'|]; try discriminate.
  destruct (qpos c) eqn:C; try discriminate. inversion H; subst. destruct (IH h' eq_refl) as [A _].
  apply nth_error_In in Hk. unfold positive in HD. rewrite Forall_forall in HD. specialize (HD d Hk).
  apply qpos_true in C. rewrite padd_val, pscale_val. split; [|intros _]; nra.
Qed.

Lemma closes_sound D l y : closes D l = true -> ~ positive n w D y.
Proof.
  unfold closes. intros H P. destruct l as [|p l]; try discriminate.
  destruct (combination D (p :: l)) as [h|] eqn:G; try discriminate.
  destruct (combination_at D y P _ _ G) as [_ A]. pose proof (nowhere_positive_val n h (sub y w) H).
  assert (0 < at_ h y) by (apply A; congruence). lra.
Qed.

Lemma straight_positive d : exists e, 0 < e /\ forall y, N (sub y w) < e -> 0 < at_ d y -> 0 < at_ (straight d) y.
Proof.
  assert (Same : exists e, 0 < e /\ forall y, N (sub y w) < e -> 0 < at_ d y -> 0 < at_ d y) by (exists 1; split; [lra|auto]).
  unfold straight. destruct (filter (fun t => Nat.eqb (length (snd t)) 1) d) as [|[c [|k [|j m]]] l'] eqn:El; auto.
    set (l := (c, [k]) :: l') in *.
  set (f := quotient _ d l k c). destruct (same d (pmul f l)) eqn:S; auto. destruct (qpos (pconst f)) eqn:Pf; auto.
    cbn [andb].
  apply qpos_true in Pf. destruct (near_positive n w [f]) as [e [E1 E2]]; [repeat constructor; auto|].
  exists e. split; auto. intros y Hy Hd. rewrite (same_at n w _ _ y S), pmul_val in Hd.
  specialize (E2 y Hy). inversion E2; subst. nra.
Qed.

(* No point near w has all decisions of a dead branch positive. *)
Lemma dead_sound D l : dead D l = true -> exists e, 0 < e /\ forall y, N (sub y w) < e -> ~ positive n w D y.
Proof.
  unfold dead. intro H. apply orb_true_iff in H as [H|H]; [exists 1; split; [lra|intros; apply (closes_sound D l); auto]|].
  assert (K : exists e, 0 < e /\ forall y, N (sub y w) < e -> positive n w D y -> positive n w (map straight D) y).
  { clear H. induction D as [|d D [e [E1 E2]]]; [exists 1; split; [lra|intros; constructor]|].
    destruct (straight_positive d) as [e' [E1' E2']]. exists (Rmin e e'). split; [apply Rmin_glb_lt; auto|].
    intros y Hy P. pose proof (Rmin_l e e'). pose proof (Rmin_r e e'). inversion P; subst.
    constructor; [apply E2'; auto; lra|apply E2; auto; lra]. }
  destruct K as [e [E1 E2]]. exists e. split; auto. intros y Hy P. exact (closes_sound _ l y H (E2 y Hy P)).
Qed.

(* In every ball near w on which what is known is right there is a ball on which F is one of finitely many leaves. *)
Definition balls (ok : pt -> Prop) (F : map_) := exists L e, Forall (fun ps => leaf ps = true /\
  length ps = length outs) L /\ 0 < e /\
  forall c r, 0 < r -> (forall y, N (sub y c) < r -> N (sub y w) < e /\ ok y) ->
  exists c' r' ps, 0 < r' /\ In ps L /\ is_on n w (length outs) F ps c' r' /\ forall y, N (sub y c') < r' -> N (sub y c) < r.

Definition outputs (env : pt -> list R) (P : program) : map_ := fun y j => nth (nth j outs 0%nat) (runR (env y) P) 0.
Definition good env P D E := balls (fun y => agree n w E (env y) y /\ positive n w D y) (outputs env P).

(* Each decision has one sign on the whole ball. *)
Definition signs c r ds := forall d, In d ds ->
  (forall y, N (sub y c) < r -> 0 < at_ d y) \/ (forall y, N (sub y c) < r -> at_ d y < 0).

Lemma signs_positive c r ds : 0 < r -> signs c r ds -> positive n w ds c -> forall y, N (sub y c) < r -> positive n w ds y.
Proof.
  intros Hr S P y Hy. apply Forall_forall. intros d Hd. unfold positive in P. rewrite Forall_forall in P. specialize (P d Hd).
  destruct (S d Hd) as [A|A]; [auto|]. specialize (A c ltac:(rewrite N_self; auto)). lra.
Qed.

Lemma nonzero_signs ds c : nonzero n w ds c -> exists r, 0 < r /\ signs c r ds.
Proof.
  induction 1 as [|d ds Hd Hds [r [R1 R2]]]; [exists 1; split; [lra|intros ? []]|].
  assert (K : exists r', 0 < r' /\ signs c r' [d]).
  { destruct (Rlt_dec 0 (at_ d c)) as [S|S].
    - destruct (cont_sign n (fun y => at_ d y) c (poly_cont n w d c) S) as [e [E1 E2]].
      exists e. split; auto. intros x [X|[]]; subst; auto.
    - destruct (cont_sign n (fun y => at_ (pscale (-1) d) y) c (poly_cont n w _ c)) as [e [E1 E2]]; [rewrite neg_at; lra|].
      exists e. split; auto. intros x [X|[]]; subst. right. intros y Hy. specialize (E2 y Hy). rewrite neg_at in E2. lra. }
  destruct K as [r' [R1' R2']]. exists (Rmin r r'). split; [apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l r r'). pose proof (Rmin_r r r'). intros x [X|X].
  - subst. destruct (R2' x (or_introl eq_refl)) as [A|A]; [left|right]; intros y Hy; apply A; lra.
  - destruct (R2 x X) as [A|A]; [left|right]; intros y Hy; apply A; lra.
Qed.

Lemma resolve_good env P E k g c : (forall x T D, k x T D = true -> good (fun y => env y ++ [g y]) P D (E ++ [x])) ->
  forall (H : pt -> Prop) T D, valid n w H g c -> resolve c T D k = true ->
  exists L e, Forall (fun ps => leaf ps = true /\ length ps = length outs) L /\ 0 < e /\
    forall z r, 0 < r -> (forall y, N (sub y z) < r -> N (sub y w) < e /\ (agree n w E (env y) y /\ positive n w D y) /\
      H y) ->
    signs z r (decisions c) -> covers n w c z ->
    exists c' r' ps, 0 < r' /\ In ps L /\ is_on n w (length outs) (outputs (fun y => env y ++ [g y]) P) ps c' r' /\
      forall y, N (sub y c') < r' -> N (sub y z) < r.
Proof.
  intros K. induction c as [x|ds c IHc o IHo|]; intros H T D V R.
  - destruct (K x T D R) as [L [e [L1 [L2 L3]]]]. exists L, e. split; auto. split; auto. intros z r Hr B _ _.
    apply L3; auto. intros y Hy. destruct (B y Hy) as [B1 [[B2 B3] B4]]. repeat split; auto.
    apply Forall2_app; [exact B2|]. constructor; [exact (V y B4)|constructor].
  - destruct T as [|l|[|t ts]]; try discriminate R.
    + destruct (dead_sound D l R) as [e [E1 E2]]. exists [], e. split; auto. split; auto. intros z r Hr B _ _. exfalso.
      destruct (B z ltac:(rewrite N_self; auto)) as [B1 [[_ Q] _]]. exact (E2 z B1 Q).
    + cbn [resolve] in R. apply andb_true_iff in R as [R1 R2]. destruct V as [V1 V2].
      destruct (IHc _ t (D ++ ds) V1 R1) as [L [e [L1 [L2 L3]]]].
      assert (Next : exists L e, Forall (fun ps => leaf ps = true /\ length ps = length outs) L /\ 0 < e /\
        forall z r, 0 < r -> (forall y, N (sub y z) < r -> N (sub y w) < e /\ (agree n w E (env y) y /\
          positive n w D y) /\ H y) ->
        signs z r (decisions o) -> covers n w o z ->
        exists c' r' ps, 0 < r' /\ In ps L /\ is_on n w (length outs) (outputs (fun y => env y ++ [g y]) P) ps c' r' /\
          forall y, N (sub y c') < r' -> N (sub y z) < r).
      { destruct o as [x|ds' c' o'|].
        - apply (IHo H (Branch ts) D); auto.
        - apply (IHo H (Branch ts) D); auto.
        - exists [], 1. split; auto. split; [lra|]. intros z r _ _ _ []. }
      clear IHc IHo R2. destruct Next as [L' [e' [L1' [L2' L3']]]].
      exists (L ++ L'), (Rmin e e'). split; [apply Forall_app; auto|]. split; [apply Rmin_glb_lt; auto|].
      pose proof (Rmin_l e e'). pose proof (Rmin_r e e'). intros z r Hr B S C. simpl in S, C.
      assert (S1 : signs z r ds) by (intros d Hd; apply S; apply in_or_app; auto).
      assert (S2 : signs z r (decisions c)) by (intros d Hd; apply S; apply in_or_app; right; apply in_or_app; auto).
      assert (S3 : signs z r (decisions o)) by (intros d Hd; apply S; apply in_or_app; right; apply in_or_app; auto).
      destruct C as [[C1 C2]|C].
      * destruct (L3 z r Hr) as [c' [r' [ps [Q1 [Q2 Q3]]]]]; auto.
        { intros y Hy. destruct (B y Hy) as [B1 [[B2 B3] B4]]. pose proof (signs_positive z r ds Hr S1 C1 y Hy) as Q.
          repeat split; auto; [lra|apply Forall_app; auto]. }
        exists c', r', ps. split; auto. split; [apply in_or_app; auto|auto].
      * destruct (L3' z r Hr) as [c' [r' [ps [Q1 [Q2 Q3]]]]]; auto.
        { intros y Hy. destruct (B y Hy) as [B1 B2]. split; [lra|auto]. }
        exists c', r', ps. split; auto. split; [apply in_or_app; auto|auto].
  - discriminate R.
Qed.

Theorem walk_good P : forall T D E env, walk P T D E = true -> good env P D E.
Proof.
  induction P as [|[g o] P IH]; intros T D E env W.
  - destruct T as [|l|ts]; simpl in W; try discriminate.
    + destruct (polys outs E) as [ps|] eqn:HP; try discriminate.
      exists [ps], 1. split; [constructor; auto; split; auto; apply (polys_length _ _ _ HP)|]. split; [lra|].
      intros c r Hr B. exists c, r, ps. split; auto. split; [left; auto|]. split; auto.
      intros y Hy j Hj. destruct (B y Hy) as [_ [A _]]. apply (proj2 (polys_at n w outs E (env y) y ps HP A) j Hj).
    + destruct (dead_sound D l W) as [e [E1 E2]]. exists [], e. split; auto. split; auto. intros c r Hr B. exfalso.
      destruct (B c ltac:(rewrite N_self; auto)) as [B1 [_ Q]]. exact (E2 c B1 Q).
  - assert (Dd : forall l, T = Dead l -> good env ((g, o) :: P) D E).
    { intros l ET; subst T. destruct (dead_sound D l W) as [e [E1 E2]]. exists [], e. split; auto. split; auto.
      intros c r Hr B. exfalso. destruct (B c ltac:(rewrite N_self; auto)) as [B1 [_ Q]]. exact (E2 c B1 Q). }
    assert (W' : (exists l, T = Dead l) \/ (if skipped g E then walk P T D (E ++ [None])
      else forallb somewhere (decisions (decide g D E o)) &&
           resolve (decide g D E o) T D (fun x T' D' => walk P T' D' (E ++ [x]))) = true) by (destruct T; eauto).
    clear W. destruct W' as [[l W]|W]; [eauto|clear Dd].
    destruct (skipped g E).
    + destruct (IH T D (E ++ [None]) (fun y => env y ++ [stepR (env y) o]) W) as [L [e [L1 [L2 L3]]]].
      exists L, e. split; auto. split; auto. intros c r Hr B. apply (L3 c r Hr). intros y Hy.
      destruct (B y Hy) as [B1 [B2 B3]]. repeat split; auto. apply Forall2_app; [exact B2|].
      constructor; [exact I|constructor].
    + apply andb_true_iff in W as [Th R].
      destruct (decide_valid n w g D E o env (fun y => agree n w E (env y) y /\ positive n w D y)) as [e0 [E0 V]];
        try (intros y [Y1 Y2]; auto).
      destruct (resolve_good env P E _ (fun y => stepR (env y) o) (decide g D E o)
        (fun x T' D' Hk => IH T' D' (E ++ [x]) (fun y => env y ++ [stepR (env y) o]) Hk) _ T D V R) as [L [e [L1 [L2 L3]]]].
      exists L, (Rmin e0 e). split; auto. split; [apply Rmin_glb_lt; auto|]. intros c r Hr B.
      pose proof (Rmin_l e0 e). pose proof (Rmin_r e0 e).
      destruct (thin_all n (map (fun d y => at_ d y) (decisions (decide g D E o)))) with (c := c) (r :=
        r) as [c1 [r1 [R1 B1]]]; auto.
      { apply Forall_forall. intros q Hq. apply in_map_iff in Hq as [d [Hd1 Hd2]]. subst q.
        rewrite forallb_forall in Th. specialize (Th d Hd2). apply existsb_exists in Th as [t [_ Ht]].
        apply (poly_thin n w d (real t)). apply negb_true_iff in Ht. apply qz_false in Ht. rewrite pvalQ_val in Ht.
          exact Ht. }
      assert (Nz : nonzero n w (decisions (decide g D E o)) c1).
      { destruct (B1 c1 ltac:(rewrite N_self; auto)) as [_ Z]. apply Forall_forall. intros d Hd.
        rewrite Forall_forall in Z. apply (Z (fun y => at_ d y)). apply in_map_iff. exists d; auto. }
      destruct (nonzero_signs _ _ Nz) as [r2 [R2 S]].
      pose proof (Rmin_l r1 r2). pose proof (Rmin_r r1 r2).
      destruct (L3 c1 (Rmin r1 r2)) as [c' [r' [ps [Q1 [Q2 [Q3 Q4]]]]]].
      * apply Rmin_glb_lt; auto.
      * intros y Hy. destruct (B1 y ltac:(lra)) as [Y1 _]. destruct (B y Y1) as [Y2 Y3]. unfold near. repeat split;
        try lra; apply Y3.
      * intros d Hd. destruct (S d Hd) as [A|A]; [left|right]; intros y Hy; apply A; lra.
      * apply decide_covers, Nz.
      * exists c', r', ps. split; auto. split; auto. split; [exact Q3|]. intros y Hy. specialize (Q4 y Hy).
        destruct (B1 y ltac:(lra)) as [Y1 _]. exact Y1.
Qed.
End Walk.
