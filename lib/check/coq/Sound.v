(* The checks, and what each proves: `check ... = true` implies the statement about F = value n P outs at w, and the
   matrix that is asked about: the derivatives of the duals `ad`. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Program Poly Choice Arc Tree.
Import ListNotations.
Open Scope R_scope.

(* {1 The checks} *)

Fixpoint equal_row n (a b : list Q) := match n with O => true
  | S m => Qeq_bool (hd 0%Q a) (hd 0%Q b) && equal_row m (tl a) (tl b) end.
Fixpoint equal n m (A B : list (list Q)) := match m with O => true
  | S k => equal_row n (hd [] A) (hd [] B) && equal n k (tl A) (tl B) end.
Fixpoint madd (A B : list (list Q)) := match A, B with [], _ => B | _, [] => A | a :: A', b :: B' =>
  gadd a b :: madd A' B' end.
Definition mscale k (A : list (list Q)) := map (gscale k) A.
Fixpoint qdot (a b : list Q) : Q := match a, b with p :: a', q :: b' => qadd (qmul p q) (qdot a' b') | _, _ => 0%Q end.
Fixpoint qinner (A B : list (list Q)) : Q := match A, B with a :: A', b :: B' => qadd (qdot a b) (qinner A' B') | _, _ =>
  0%Q end.

(* The limit of F's values along a path is F's value at w. *)
Fixpoint same_values (ps : list poly) (ds : list dual) := match ps, ds with [], [] => true
  | p :: ps', d :: ds' => Qeq_bool (pconst p) (fst d) && same_values ps' ds' | _, _ => false end.

Section Checks.
Variables (n : nat) (P : program) (outs : list nat) (w : list Q).
(* Of each output its value at w, and the row that is asked about. *)
Variable ad : list dual.
Definition good_cell steps : option (list (list Q)) := match cell n P outs w steps with
  | Some ps => if same_values ps (ad) then Some (grads n ps) else None | None => None end.

(* Evidence ad; and hull with one cell. *)
Definition check_ad steps := match good_cell steps with
  | Some G => equal n (length outs) G (map snd ad) | None => false end.

(* Evidence hull: weights, and an arc for each. *)
Fixpoint hull_sum (l : list (Q * list (list Q))) : option (Q * list (list Q)) := match l with [] => Some (0%Q, [])
  | (k, steps) :: l' => match good_cell steps, hull_sum l' with
    | Some G, Some (s, H) => if qpos k then Some (qadd k s, madd (mscale k G) H) else None | _, _ => None end end.
Definition check_hull l := match hull_sum l with
  | Some (s, G) => Qeq_bool s 1 && equal n (length outs) G (map snd ad) | None => false end.

(* Evidence separator, and unanimous: a tree. *)
Definition beyond v ps := same_values ps (ad) &&
  match (qinner v (grads n ps) ?= qinner v (map snd ad))%Q with Lt => true | _ => false end.
Definition check_separator tests v T := Nat.leb (length v) (length outs) && forallb (fun r => Nat.leb (length r) n) v &&
  walk n outs tests (beyond v) P T [] (start n w).
Definition unanimous ps := same_values ps (ad) && equal n (length outs) (grads n ps) (map snd ad).
Definition check_unanimous tests T := walk n outs tests unanimous P T [] (start n w).
End Checks.

(* {1 Matrices} *)

Lemma equal_row_at n : forall a b, equal_row n a b = true -> forall i, (i < n)%nat -> Q2R (nth i a 0%Q) = Q2R (nth i b 0%Q).
Proof.
  induction n; simpl; intros a b H i Hi; [lia|]. apply andb_true_iff in H as [H1 H2]. apply Qeq_bool_R in H1.
  destruct i; [destruct a, b; auto|]. specialize (IHn _ _ H2 i ltac:(lia)). destruct a, b; simpl in *; auto; destruct i; auto.
Qed.

Lemma equal_at n m : forall A B, equal n m A B = true ->
  forall j i, (j < m)%nat -> (i < n)%nat -> reals A j i = reals B j i.
Proof.
  induction m; simpl; intros A B H j i Hj Hi; [lia|]. apply andb_true_iff in H as [H1 H2]. unfold reals, real.
  destruct j.
  - pose proof (equal_row_at n _ _ H1 i Hi). destruct A, B; auto.
  - specialize (IHm _ _ H2 j i ltac:(lia) Hi). unfold reals, real in IHm. destruct A, B; simpl in *; auto; destruct j; auto.
Qed.

Lemma gadd_at a : forall b i, Q2R (nth i (gadd a b) 0%Q) = Q2R (nth i a 0%Q) + Q2R (nth i b 0%Q).
Proof.
  induction a as [|p a IH]; intros [|q b] [|i]; simpl; rewrite ?Q2R_0; try lra; auto using Q2R_add.
Qed.

Lemma gscale_at k a i : Q2R (nth i (gscale k a) 0%Q) = Q2R k * Q2R (nth i a 0%Q).
Proof. unfold gscale. revert i; induction a; intros [|i]; simpl; rewrite ?Q2R_0; try lra; auto using Q2R_mul. Qed.

Lemma madd_at A : forall B j i, reals (madd A B) j i = reals A j i + reals B j i.
Proof.
  unfold reals, real. induction A as [|a A IH]; intros [|b B] [|j] i; simpl; auto using gadd_at;
    destruct i; simpl; rewrite ?Q2R_0; try lra; try (destruct j; rewrite ?Q2R_0; lra).
Qed.

Lemma mscale_at k A j i : reals (mscale k A) j i = Q2R k * reals A j i.
Proof.
  unfold reals, real, mscale. revert j; induction A as [|a A IH]; intros [|j]; simpl; auto using gscale_at;
    destruct i; rewrite Q2R_0; lra.
Qed.

(* {1 In: ad and hull} *)

Lemma Bouligand_ext n m F w G G' : (forall j i, (j < m)%nat -> (i < n)%nat -> G j i = G' j i) ->
  Bouligand n m F w G -> Bouligand n m F w G'.
Proof.
  intros E H e He. destruct (H e He) as (x & J & A & B & C). exists x, J. repeat split; auto. intros. rewrite <- E; auto.
Qed.

Lemma good_cell_sound n P outs w ad steps G : good_cell n P outs w ad steps = Some G ->
  Bouligand n (length outs) (value n P outs) (real w) (reals G).
Proof.
  unfold good_cell. destruct (cell n P outs w steps) as [ps|] eqn:C; try discriminate.
  destruct (same_values _ _); try discriminate. intro H. inversion H; subst. apply (cell_sound _ _ _ _ _ _ C).
Qed.

(* AD's output is a limit of gradients at points that tend to w. *)
Theorem ad_sound n P outs w ad steps : check_ad n P outs w ad steps = true ->
  Bouligand n (length outs) (value n P outs) (real w) (reals (map snd ad)).
Proof.
  unfold check_ad. destruct (good_cell _ _ _ _ _ _) as [G|] eqn:C; try discriminate. intro H.
  apply (Bouligand_ext n _ _ _ (reals G)); [apply equal_at, H|apply (good_cell_sound _ _ _ _ _ _ _ C)].
Qed.

(* AD's output is a convex combination of such limits. *)
Theorem hull_sound n P outs w ad l : check_hull n P outs w ad l = true ->
  Clarke n (length outs) (value n P outs) (real w) (reals (map snd ad)).
Proof.
  unfold check_hull. destruct (hull_sum n P outs w ad l) as [[s G]|] eqn:Hs; try discriminate. intro H.
  apply andb_true_iff in H as [H1 H2]. apply Qeq_bool_R in H1. rewrite Q2R_1 in H1. pose proof (equal_at _ _ _ _ H2) as HG.
  assert (A : exists L, Forall (fun c => 0 <= fst c /\ Bouligand n (length outs) (value n P outs) (real w) (snd c)) L /\
    weights L = Q2R s /\ forall j i, combine L j i = reals G j i).
  { clear H1 H2 HG. revert s G Hs. induction l as [|[k d] l IH]; simpl; intros s G Hs.
    - inversion Hs; subst. exists []. simpl. rewrite Q2R_0. repeat split; auto.
      intros j i. unfold reals, real. destruct j, i; simpl; rewrite Q2R_0; auto.
    - destruct (good_cell n P outs w ad d) as [C|] eqn:HC; try discriminate.
      destruct (hull_sum n P outs w ad l) as [[s' H]|]; try discriminate. destruct (qpos k) eqn:K; try discriminate.
      inversion Hs; subst. destruct (IH _ _ eq_refl) as [L [L1 [L2 L3]]]. exists ((Q2R k, reals C) :: L). repeat split.
      + constructor; auto. simpl. apply qpos_true in K. split; [lra|]. apply (good_cell_sound _ _ _ _ _ _ _ HC).
      + simpl. rewrite L2, Q2R_add. auto.
      + intros j i. simpl. rewrite L3, madd_at, mscale_at. auto. }
  destruct A as [L [L1 [L2 L3]]]. exists L. split; auto. split; [congruence|]. intros j i Hj Hi. rewrite L3. symmetry. auto.
Qed.

(* {1 Out: separators} *)

Definition inner n m (V G : jacobian) := sum m (fun j => dot n (V j) (G j)).

Lemma sum_first m f : sum (S m) f = f 0%nat + sum m (fun i => f (S i)).
Proof. induction m; [simpl; lra|]. change (sum (S (S m)) f) with (sum (S m) f + f (S m)). rewrite IHm. simpl. lra. Qed.

Lemma real_nil i : real [] i = 0.
Proof. unfold real. destruct i; simpl; apply Q2R_0. Qed.

Lemma qdot_at v : forall n g, (length v <= n)%nat -> Q2R (qdot v g) = dot n (real v) (real g).
Proof.
  induction v as [|p v IH]; intros n g H.
  - simpl. rewrite Q2R_0. unfold dot. rewrite <- (sum_zero n). apply sum_ext. intros i _. rewrite real_nil. ring.
  - destruct g as [|q g].
    + simpl. rewrite Q2R_0. unfold dot. rewrite <- (sum_zero n). apply sum_ext. intros i _. rewrite (real_nil i). ring.
    + destruct n as [|n]; simpl in H; [lia|]. simpl qdot. rewrite Q2R_add, Q2R_mul, (IH n g) by lia. unfold dot.
      rewrite sum_first. reflexivity.
Qed.

Lemma qinner_at n V : forall m G, (length V <= m)%nat -> forallb (fun r => Nat.leb (length r) n) V = true ->
  Q2R (qinner V G) = inner n m (reals V) (reals G).
Proof.
  assert (Zl : forall b, dot n (real []) b = 0).
  { intro b. unfold dot. rewrite <- (sum_zero n). apply sum_ext. intros i _. rewrite real_nil. ring. }
  assert (Zr : forall b, dot n b (real []) = 0) by (intro b; rewrite dot_comm; apply Zl).
  induction V as [|v V IH]; intros m G H R.
  - simpl. rewrite Q2R_0. unfold inner. rewrite <- (sum_zero m). apply sum_ext. intros j _. unfold reals at 1.
    replace (nth j [] []) with (@nil Q) by (destruct j; auto). auto.
  - destruct G as [|g G].
    + simpl. rewrite Q2R_0. unfold inner. rewrite <- (sum_zero m). apply sum_ext. intros j _. unfold reals at 2.
      replace (nth j [] []) with (@nil Q) by (destruct j; auto). auto.
    + destruct m as [|m]; simpl in H; [lia|]. simpl in R. apply andb_true_iff in R as [R1 R2]. apply Nat.leb_le in R1.
      simpl qinner. rewrite Q2R_add, (IH m G), (qdot_at v n g) by (auto; lia). unfold inner. rewrite sum_first. reflexivity.
Qed.

Lemma inner_close n m V A B e : (forall j i, (j < m)%nat -> (i < n)%nat -> Rabs (A j i - B j i) < e) ->
  Rabs (inner n m V A - inner n m V B) <= sum m (fun j => N n (V j)) * e.
Proof.
  intro H. unfold inner.
  assert (Row : forall v a b, (forall i, (i < n)%nat -> Rabs (a i - b i) < e) -> Rabs (dot n v a - dot n v b) <= N n v * e).
  { intros v a b K. rewrite <- dot_sub_r. unfold dot, N.
    assert (G : forall k, (k <= n)%nat -> Rabs (sum k (fun i => v i * sub a b i)) <= sum k (fun i => Rabs (v i)) * e).
    { induction k; simpl; intros; [rewrite Rabs_R0; lra|]. eapply Rle_trans; [apply Rabs_triang|].
      rewrite Rmult_plus_distr_r. apply Rplus_le_compat; [apply IHk; lia|]. rewrite Rabs_mult.
      apply Rmult_le_compat_l; [apply Rabs_pos|]. unfold sub. left; apply K; lia. }
    apply G; auto. }
  assert (G : forall k, (k <= m)%nat -> Rabs (sum k (fun j => dot n (V j) (A j)) - sum k (fun j => dot n (V j) (B j))) <=
    sum k (fun j => N n (V j)) * e).
  { induction k; simpl; intros; [rewrite Rminus_0_r, Rabs_R0; lra|].
    replace (sum k (fun j => dot n (V j) (A j)) + dot n (V k) (A k) - (sum k (fun j =>
      dot n (V j) (B j)) + dot n (V k) (B k)))
      with ((sum k (fun j => dot n (V j) (A j)) - sum k (fun j =>
        dot n (V j) (B j))) + (dot n (V k) (A k) - dot n (V k) (B k))) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rmult_plus_distr_r. apply Rplus_le_compat; [apply IHk; lia|].
    apply Row. intros; apply H; auto; lia. }
  apply G; auto.
Qed.

Lemma inner_combine n m V (L : list (R * jacobian)) : inner n m V (combine L) = fold_right (fun c s =>
  fst c * inner n m V (snd c) + s) 0 L.
Proof.
  induction L as [|[k G] L IH]; simpl.
  - unfold inner. rewrite <- (sum_zero m). apply sum_ext. intros j _. rewrite dot_comm. apply dot_zero_l.
  - rewrite <- IH. unfold inner. rewrite <- sum_scale, <- sum_add. apply sum_ext. intros j _.
    rewrite !(dot_comm n (V j)), <- dot_scale_l, <- dot_add_l. reflexivity.
Qed.

(* A half-space that has all limits of gradients has their convex combinations. *)
Lemma hull_below n m F w V c : (forall G, Bouligand n m F w G -> inner n m V G <= c) ->
  forall G, Clarke n m F w G -> inner n m V G <= c.
Proof.
  intros H G (L & L1 & L2 & L3).
  assert (E : inner n m V G = inner n m V (combine L)).
  { unfold inner. apply sum_ext. intros j Hj. apply dot_ext; auto. }
  rewrite E, inner_combine.
  assert (K : fold_right (fun k s => fst k * inner n m V (snd k) + s) 0 L <= weights L * c).
  { clear -H L1. induction L1 as [|[k J] L [A B] L1 IH]; simpl in *; [lra|]. specialize (H J B). nra. }
  rewrite L2 in K. lra.
Qed.

(* And a half-space that has all gradients near w has their limits. *)
Lemma limits_below n m F w V c : (exists e, 0 < e /\ forall x G, N n (sub x w) < e ->
    (forall j, (j < m)%nat -> diff_at n (fun y => F y j) x (G j)) -> inner n m V G <= c) ->
  forall G, Bouligand n m F w G -> inner n m V G <= c.
Proof.
  intros [e [He H]] G B. apply Rnot_lt_le. intro K. set (s := sum m (fun j => N n (V j))).
  assert (Hs : 0 <= s) by (apply sum_nonneg; intros; apply N_nonneg).
  set (k := (inner n m V G - c) / (2 * (s + 1))). assert (Hk : 0 < k) by (apply Rdiv_lt_0_compat; lra).
  destruct (B (Rmin e k)) as (x & J & X1 & X2 & X3); [apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l e k). pose proof (Rmin_r e k). specialize (H x J ltac:(lra) X2).
  assert (D : Rabs (inner n m V J - inner n m V G) <= s * k) by (apply inner_close; intros j i Hj Hi;
    specialize (X3 j i Hj Hi); lra).
  pose proof (Rle_abs (- (inner n m V J - inner n m V G))) as RA. rewrite Rabs_Ropp in RA.
  assert (k * (s + 1) = (inner n m V G - c) / 2) by (unfold k; field; lra). nra.
Qed.

Lemma sum_pos_term m f : 0 < sum m f -> exists j, (j < m)%nat /\ 0 < f j.
Proof.
  induction m; simpl; intros H; [lra|]. destruct (Rlt_dec 0 (f m)); [exists m; auto|].
  destruct IHm as [j [J1 J2]]; [lra|]. exists j. auto.
Qed.

(* Where F is differentiable near w, some leaf's gradient there is no less in the direction V. *)
Lemma some_leaf n w m F V (L : list (list poly)) e x G :
  (forall c r, 0 < r -> (forall y, N n (sub y c) < r -> N n (sub y w) < e) ->
    exists c' r' ps, 0 < r' /\ In ps L /\ is_on n w m F ps c' r' /\ forall y, N n (sub y c') < r' -> N n (sub y c) < r) ->
  N n (sub x w) < e -> (forall j, (j < m)%nat -> diff_at n (fun y => F y j) x (G j)) ->
  exists ps, In ps L /\ inner n m V G <= inner n m V (fun j => pgrad n (nth j ps []) (sub x w)).
Proof.
  intros Balls Hx D. set (J := fun ps j => pgrad n (nth j ps []) (sub x w)).
  assert (Dec : (exists ps, In ps L /\ inner n m V G <= inner n m V (J ps)) \/ Forall (fun ps =>
    inner n m V (J ps) < inner n m V G) L).
  { clear Balls. induction L as [|ps L [[q [Q1 Q2]]|IH]]; [right; auto|left; exists q; split; [right; auto|auto]|].
    destruct (Rlt_dec (inner n m V (J ps)) (inner n m V G)); [right; auto|left; exists ps; split; [left; auto|lra]]. }
  destruct Dec as [Dec|Dec]; [exact Dec|exfalso].
  (* of each leaf a row departs from F's *)
  assert (Rows : exists rows, Forall2 (fun ps (r : nat * pt) => (fst r < m)%nat /\ snd r = sub (G (fst r)) (J ps (fst r)) /\
    dot n (snd r) (V (fst r)) <> 0) L rows).
  { clear Balls. induction Dec as [|ps L Hps Dec [rows IH]]; [exists []; constructor|].
    destruct (sum_pos_term m (fun j => dot n (V j) (sub (G j) (J ps j)))) as [j [J1 J2]].
    { assert (E : sum m (fun j => dot n (V j) (sub (G j) (J ps j))) = inner n m V G + -1 * inner n m V (J ps)).
      { unfold inner. rewrite <- sum_scale, <- sum_add. apply sum_ext. intros k _. rewrite dot_sub_r. ring. }
      rewrite E. lra. }
    exists ((j, sub (G j) (J ps j)) :: rows). constructor; auto. simpl. repeat split; auto. rewrite dot_comm. lra. }
  destruct Rows as [rows Rows].
  (* one direction is not orthogonal to any of them *)
  destruct (thin_all n (map (fun r : nat * pt => dot n (snd r)) rows)) with (c := fun _ : nat => 0) (r :=
    1) as [u [p0 [P0 U]]]; [|lra|].
  { apply Forall_forall. intros q Hq. apply in_map_iff in Hq as [r [R1 R2]]. subst q.
    clear -Rows R2. induction Rows as [|ps r' L rows [_ [_ A]] Rows IH]; [destruct R2|].
    destruct R2 as [R2|R2]; [subst; apply (thin_linear n _ _ A)|auto]. }
  assert (Cone : exists T p, 0 < T /\ 0 < p /\ forall ps, In ps L -> forall t v, 0 < t < T -> N n (sub v u) < p ->
    exists j, (j < m)%nat /\ F (line x t v) j <> pval n (nth j ps []) (sub (line x t v) w)).
  { destruct (U u ltac:(rewrite N_self; auto)) as [_ Un]. clear Balls U Dec.
    induction Rows as [|ps r L rows [R1 [R2 _]] Rows IH]; [exists 1, 1; repeat split; try lra; intros ? []|].
    inversion Un as [|? ? Un1 Un2]; subst. destruct (IH Un2) as [T [p [T1 [P1 H]]]].
    destruct (depart n (fun y => F y (fst r) + -1 * pval n (nth (fst r) ps []) (sub y w)) x (snd r) u) as [T' [p' [T1' [P1'
      H']]]].
    - rewrite R2. apply (diff_ext_g n _ _ (fun i => G (fst r) i + -1 * J ps (fst r) i)); [intros; unfold sub; ring|].
      apply diff_add; [auto|]. apply (c1_diff _ _ _ (C1_scale n (-1) _ _ (poly_C1 n w (nth (fst r) ps [])))).
    - auto.
    - exists (Rmin T T'), (Rmin p p'). split; [apply Rmin_glb_lt; auto|]. split; [apply Rmin_glb_lt; auto|].
      pose proof (Rmin_l T T'). pose proof (Rmin_r T T'). pose proof (Rmin_l p p'). pose proof (Rmin_r p p').
      intros qs [Hq|Hq] t v Ht Hv; [subst qs|apply (H qs Hq); lra].
      exists (fst r). split; auto. intro E. apply (H' t v); [lra|lra|]. cbv beta. rewrite E.
      match goal with |- ?a + _ * ?b = 0 => change b with a end. ring. }
  destruct Cone as [T [p [T1 [P1 Cone]]]].
  (* a ball of such directions, one step away *)
  pose proof (N_nonneg n u) as Nu. set (M := N n u + p). set (k := (e - N n (sub x w)) / M).
  assert (Hk : 0 < k) by (apply Rdiv_lt_0_compat; unfold M; lra).
  assert (Ek : k * M = e - N n (sub x w)) by (unfold k; field; unfold M; lra).
  set (t := Rmin T k / 2). assert (Hm : 0 < Rmin T k) by (apply Rmin_glb_lt; auto).
  pose proof (Rmin_l T k). pose proof (Rmin_r T k). assert (Ht : 0 < t < T /\ t < k) by (unfold t; lra).
  destruct (Balls (line x t u) (t * p)) as [c' [r' [ps [R1 [R2 [R3 R4]]]]]]; [nra| |].
  - intros y Hy. pose proof (N_tri n w x y). pose proof (N_tri n x (line x t u) y).
    rewrite N_line, Rabs_right in H2 by lra. unfold M in Ek. nra.
  - set (v := fun i => (c' i - x i) / t).
    assert (Ev : line x t v = c') by (apply FunctionalExtensionality.functional_extensionality; intro i; unfold line, v;
      field; lra).
    assert (Nv : N n (sub v u) < p).
    { specialize (R4 c' ltac:(rewrite N_self; auto)). rewrite <- Ev, N_line2, Rabs_right in R4 by lra. nra. }
    destruct (Cone ps R2 t v (proj1 Ht) Nv) as [j [J1 J2]]. apply J2. rewrite Ev.
    apply R3; auto. rewrite N_self; auto.
Qed.

(* A tree covers what is near w. *)
Lemma walk_balls n P outs w tests leaf T : walk n outs tests leaf P T [] (start n w) = true -> exists L e,
  Forall (fun ps => leaf ps = true /\ length ps = length outs) L /\ 0 < e /\
  forall c r, 0 < r -> (forall y, N n (sub y c) < r -> N n (sub y (real w)) < e) ->
    exists c' r' ps, 0 < r' /\ In ps L /\ is_on n (real w) (length outs) (value n P outs) ps c' r' /\
      forall y, N n (sub y c') < r' -> N n (sub y c) < r.
Proof.
  intro H. destruct (walk_good n outs tests leaf (real w) P T [] (start n w) (fun y =>
    map y (seq 0 n)) H) as [L [e [L1 [L2 L3]]]].
  exists L, e. split; auto. split; auto. intros c r Hr B. apply (L3 c r Hr). intros y Hy.
  split; [auto|]. split; [apply start_at|constructor].
Qed.

(* AD's output is no element of the Clarke subdifferential. *)
Theorem separator_sound n P outs w ad tests v T : check_separator n P outs w ad tests v T = true ->
  ~ Clarke n (length outs) (value n P outs) (real w) (reals (map snd ad)).
Proof.
  unfold check_separator. intro H. apply andb_true_iff in H as [H W]. apply andb_true_iff in H as [V1 V2].
    apply Nat.leb_le in V1.
  set (a := map snd ad) in *. set (m := length outs) in *. set (V := reals v).
  destruct (walk_balls _ _ _ _ _ _ _ W) as [L [e [L1 [L2 L3]]]].
  assert (M : exists c d, c < inner n m V (reals a) /\ 0 < d /\ forall x, N n (sub x (real w)) < d -> forall ps, In ps L ->
    inner n m V (fun j => pgrad n (nth j ps []) (sub x (real w))) <= c).
  { clear L3. induction L1 as [|ps L [B Len] L1 IH]; [exists (inner n m V (reals a) - 1), 1; repeat split; try lra;
    intros ? ? ? []|].
    destruct IH as [c [d [I1 [I2 I3]]]]. unfold beyond in B. apply andb_true_iff in B as [_ B].
    destruct (qinner v (grads n ps) ?= qinner v (map snd ad))%Q eqn:Cq; try discriminate.
    apply Qlt_alt, Qlt_Rlt in Cq. rewrite !(qinner_at n v m) in Cq by auto. fold a V in Cq.
    assert (E : inner n m V (reals (grads n ps)) = inner n m V (fun j => pgrad n (nth j ps []) origin)).
    { unfold inner. apply sum_ext. intros j Hj. apply dot_ext; auto. intros i Hi. apply nth_grads; auto. }
    rewrite E in Cq. clear E. set (b := inner n m V (fun j => pgrad n (nth j ps []) origin)) in *.
    set (q := inner n m V (reals a)) in *. set (s := sum m (fun j => N n (V j))).
    assert (Hs : 0 <= s) by (apply sum_nonneg; intros; apply N_nonneg). set (k := (q - b) / (2 * (s + 1))).
    assert (Hk : 0 < k) by (apply Rdiv_lt_0_compat; lra). assert (Ek : k * (s + 1) = (q - b) / 2) by (unfold k; field; lra).
    destruct (grads_near n (real w) ps k Hk) as [d' [D1 D2]].
    exists (Rmax c ((q + b) / 2)), (Rmin d d'). split; [apply Rmax_lub_lt; auto; lra|]. split; [apply Rmin_glb_lt; auto|].
    intros x Hx qs [Hq|Hq]; pose proof (Rmin_l d d'); pose proof (Rmin_r d d').
    - subst qs. pose proof (Rmax_r c ((q + b) / 2)).
      pose proof (inner_close n m V (fun j => pgrad n (nth j ps []) (sub x (real w))) (fun j =>
        pgrad n (nth j ps []) origin) k) as IC.
      fold s b in IC. specialize (IC ltac:(intros j i Hj Hi; apply D2; auto; [lra|lia])).
      pose proof (Rle_abs (inner n m V (fun j => pgrad n (nth j ps []) (sub x (real w))) - b)). nra.
    - pose proof (Rmax_l c ((q + b) / 2)). specialize (I3 x ltac:(lra) qs Hq). lra. }
  destruct M as [c [d [M1 [M2 M3]]]]. intro Cl.
  assert (K : inner n m V (reals a) <= c); [|lra].
  apply (hull_below n m (value n P outs) (real w)); auto. apply limits_below. exists (Rmin e d).
  split; [apply Rmin_glb_lt; auto|]. intros x G Hx D. pose proof (Rmin_l e d). pose proof (Rmin_r e d).
  destruct (some_leaf n (real w) m (value n P outs) V L e x G L3 ltac:(lra) D) as [ps [S1 S2]].
  specialize (M3 x ltac:(lra) ps S1). lra.
Qed.

(* All leaves have AD's output for their gradient. *)
Theorem unanimous_sound n P outs w ad tests T : check_unanimous n P outs w ad tests T = true ->
  Bouligand n (length outs) (value n P outs) (real w) (reals (map snd ad)).
Proof.
  unfold check_unanimous. intro H. destruct (walk_balls _ _ _ _ _ _ _ H) as [L [e [L1 [L2 L3]]]].
  apply (balls_bouligand n (real w) _ _ L).
  - intros ps Hps. rewrite Forall_forall in L1. destruct (L1 ps Hps) as [B Len]. split; auto. intros j i Hj Hi.
    apply andb_true_iff in B as [_ B]. rewrite <- nth_grads by auto. apply (equal_at _ _ _ _ B); auto.
  - intros e' He'. destruct (L3 (real w) (Rmin e e')) as [c' [r' [ps [R1 [R2 [R3 R4]]]]]].
    + apply Rmin_glb_lt; auto.
    + intros y Hy. pose proof (Rmin_l e e'). lra.
    + exists c', r', ps. split; auto. specialize (R4 c' ltac:(rewrite N_self; auto)). pose proof (Rmin_r e e'). lra.
Qed.
