(* Arcs: points w + t d_1 + t^2 d_2 + ..., t > 0 small. At each choice the one is taken whose decisions are positive along
   the arc. Around its points F is then one polynomial. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Program Poly Choice.
Import ListNotations.
Open Scope R_scope.

(* {1 Polynomials in t, by their coefficients} *)

Definition series := list Q.
Fixpoint uadd (u v : series) : series := match u, v with [], _ => v | _, [] => u | a :: u', b :: v' =>
  qadd a b :: uadd u' v' end.
Definition uscale c (u : series) : series := map (qmul c) u.
Fixpoint umul (u v : series) : series := match u with [] => [] | a :: u' => uadd (uscale a v) (0%Q :: umul u' v) end.
(* The first coefficient that is not 0 is positive. *)
Fixpoint rises (u : series) := match u with [] => false
  | a :: u' => match qsgn a with Gt => true | Lt => false | Eq => rises u' end end.

Fixpoint along_mono n (m : mono) (A : list series) : series := match m with [] => [1%Q]
  | i :: m' => if Nat.ltb i n then umul (nth i A []) (along_mono n m' A) else [] end.
Fixpoint along n (p : poly) (A : list series) : series := match p with [] => []
  | (c, m) :: p' => uadd (uscale c (along_mono n m A)) (along n p' A) end.

(* {1 The program along an arc} *)

Section Follow.
Variable rising : poly -> bool.
Fixpoint choose c D : option (entry * list poly) := match c with Done x => Some (x, D) | End => None
  | Or ds c o => if forallb rising ds then choose c (D ++ ds) else choose o D end.
Fixpoint follow (P : program) D E : option (list entry) := match P with [] => Some E
  | (g, o) :: P' => if skipped g E then follow P' D (E ++ [None])
    else match choose (decide g D E o) D with Some (x, D') => follow P' D' (E ++ [x]) | None => None end end.
End Follow.

Definition start n (w : list Q) : list entry := map (fun k => Some (padd (term (nth k w 0%Q) []) [(1%Q, [k])])) (seq 0 n).
(* Of every coordinate the steps' entries, from t on. *)
Definition arc n (steps : list (list Q)) : list series := map (fun i => 0%Q :: map (fun d => nth i d 0%Q) steps) (seq 0 n).
(* The outputs' polynomials. *)
Definition cell n P outs w steps : option (list poly) :=
  match follow (fun d => rises (along n d (arc n steps))) P [] (start n w) with
  | Some E => polys outs E | None => None end.

Fixpoint uval (u : series) (t : R) : R := match u with [] => 0 | a :: u' => Q2R a + t * uval u' t end.

Lemma uadd_val u : forall v t, uval (uadd u v) t = uval u t + uval v t.
Proof. induction u as [|a u IH]; intros [|b v] t; simpl; try ring. rewrite IH, Q2R_add. ring. Qed.

Lemma uscale_val c u t : uval (uscale c u) t = Q2R c * uval u t.
Proof. unfold uscale. induction u as [|a u IH]; simpl; [ring|]. rewrite IH, Q2R_mul. ring. Qed.

Lemma umul_val u v t : uval (umul u v) t = uval u t * uval v t.
Proof. induction u as [|a u IH]; simpl; [ring|]. rewrite uadd_val, uscale_val. simpl. rewrite IH, Q2R_0. ring. Qed.

(* Bounded for small t. *)
Lemma uval_bound u : exists B, 0 <= B /\ forall t, 0 < t < 1 -> Rabs (uval u t) <= B.
Proof.
  induction u as [|a u [B [B0 HB]]]; [exists 0; split; [lra|intros; simpl; rewrite Rabs_R0; lra]|].
  exists (Rabs (Q2R a) + B). pose proof (Rabs_pos (Q2R a)). split; [lra|]. intros t Ht. simpl.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right t) by lra. specialize (HB t Ht).
  pose proof (Rabs_pos (uval u t)). nra.
Qed.

Lemma rises_val u : rises u = true -> exists T, 0 < T /\ forall t, 0 < t < T -> 0 < uval u t.
Proof.
  induction u as [|a u IH]; simpl; intros H; [discriminate|]. pose proof (qsgn_spec a) as S.
  destruct (qsgn a); try discriminate.
  - destruct (IH H) as [T [T1 T2]]. exists T. split; auto. intros t Ht. specialize (T2 t Ht). nra.
  - destruct (uval_bound u) as [B [B0 HB]]. exists (Rmin 1 (Q2R a / (B + 1))).
    split; [apply Rmin_glb_lt; try lra; apply Rdiv_lt_0_compat; lra|]. intros t Ht.
    pose proof (Rmin_l 1 (Q2R a / (B + 1))). pose proof (Rmin_r 1 (Q2R a / (B + 1))).
    specialize (HB t ltac:(lra)). assert (K : t < Q2R a / (B + 1)) by lra.
    apply Rmult_lt_compat_r with (r := B + 1) in K; try lra. unfold Rdiv in K. rewrite Rmult_assoc, Rinv_l in K by lra.
    pose proof (Rle_abs (- uval u t)) as L. rewrite Rabs_Ropp in L. nra.
Qed.

(* {1 What is followed is right where choices were} *)

Section Followed.
Variable n : nat.
Variable w : pt.
(* Where it is asked: beside an arc, or around w. *)
Variable ev : (pt -> Prop) -> Prop.
Hypothesis ev_imp : forall A B : pt -> Prop, ev A -> (forall y, A y -> B y) -> ev B.
Hypothesis ev_and : forall A B : pt -> Prop, ev A -> ev B -> ev (fun y => A y /\ B y).
Hypothesis ev_near : forall e, 0 < e -> ev (fun y => N n (sub y w) < e).
Variable rising : poly -> bool.
Hypothesis ev_rising : forall ds, forallb rising ds = true -> ev (positive n w ds).

Lemma choose_sound g c : forall H D x D', valid n w H g c -> choose rising c D = Some (x, D') ->
  ev (fun y => H y /\ positive n w D y) -> ev (fun y => is_at n w x (g y) y /\ positive n w D' y).
Proof.
  induction c as [x0|ds c IHc o IHo|]; simpl; intros H D x D' V C B; [| |discriminate].
  - inversion C; subst. apply (ev_imp _ _ B). intros y [Y1 Y2]; auto.
  - destruct V as [V1 V2]. destruct (forallb rising ds) eqn:F; [|apply (IHo H D); auto].
    apply (IHc (fun y => H y /\ positive n w ds y) (D ++ ds)); auto.
    apply (ev_imp _ _ (ev_and _ _ B (ev_rising ds F))). intros y [[Y1 Y2] Y3]. repeat split; auto.
    apply Forall_app; auto.
Qed.

Theorem follow_sound P : forall D E env E', follow rising P D E = Some E' ->
  ev (fun y => agree n w E (env y) y /\ positive n w D y) -> ev (fun y => agree n w E' (runR (env y) P) y).
Proof.
  induction P as [|[g o] P IH]; simpl; intros D E env E' F B.
  - inversion F; subst. apply (ev_imp _ _ B). intros y [Y _]; auto.
  - destruct (skipped g E).
    + apply (IH D (E ++ [None]) (fun y => env y ++ [stepR (env y) o]) E' F). apply (ev_imp _ _ B). intros y [Y1 Y2].
      split; auto. apply Forall2_app; [exact Y1|]. constructor; [exact I|constructor].
    + destruct (choose rising (decide g D E o) D) as [[x D']|] eqn:C; try discriminate.
      apply (IH D' (E ++ [x]) (fun y => env y ++ [stepR (env y) o]) E' F).
      destruct (decide_valid n w g D E o env (fun y => agree n w E (env y) y /\ positive n w D y)) as [e [E1 E2]];
        try (intros y [Y1 Y2]; auto).
      assert (K := choose_sound _ _ _ _ _ _ E2 C).
      assert (K' := ev_and _ _ B (ev_near e E1)).
      apply (ev_imp _ _ (ev_and _ _ B (K ltac:(apply (ev_imp _ _ K'); intros y [[Y1 Y2] Y3]; repeat split; auto)))).
      intros y [[Y1 Y2] [Y3 Y4]]. split; auto. apply Forall2_app; [exact Y1|]. constructor; [exact Y3|constructor].
Qed.
End Followed.

Section Arc.
Variable n : nat.
Notation N := (N n).
Variable w : pt.
Variable A : list series.
(* Arcs begin at w. *)
Hypothesis from_w : forall i, (i < n)%nat -> exists u, nth i A [] = 0%Q :: u.

Definition arc_at (t : R) : pt := fun i => w i + uval (nth i A []) t.

Lemma along_mono_val m t : uval (along_mono n m A) t = mval n m (sub (arc_at t) w).
Proof.
  induction m as [|i m IH]; simpl; [rewrite Q2R_1; ring|]. unfold co. destruct (Nat.ltb i n); simpl; [|ring].
  rewrite umul_val, IH. unfold sub, arc_at. ring.
Qed.

Lemma along_val p t : uval (along n p A) t = pval n p (sub (arc_at t) w).
Proof. induction p as [|[c m] p IH]; simpl; [ring|]. rewrite uadd_val, uscale_val, along_mono_val, IH. ring. Qed.

(* All small t have a ball around their point where Pr holds. *)
Definition beside (Pr : pt -> Prop) := exists T, 0 < T /\ forall t, 0 < t < T ->
  exists r, 0 < r /\ forall y, N (sub y (arc_at t)) < r -> Pr y.

Lemma beside_imp (Pr Qr : pt -> Prop) : beside Pr -> (forall y, Pr y -> Qr y) -> beside Qr.
Proof.
  intros [T [H K]] I. exists T; split; auto. intros t Ht. destruct (K t Ht) as [r [Hr R]]. exists r; split; auto.
Qed.

Lemma beside_and (Pr Qr : pt -> Prop) : beside Pr -> beside Qr -> beside (fun y => Pr y /\ Qr y).
Proof.
  intros [T [H K]] [T' [H' K']]. exists (Rmin T T'). split; [apply Rmin_glb_lt; auto|]. intros t Ht.
  pose proof (Rmin_l T T'). pose proof (Rmin_r T T').
  destruct (K t ltac:(lra)) as [r [Hr R]]. destruct (K' t ltac:(lra)) as [r' [Hr' R']].
  exists (Rmin r r'). split; [apply Rmin_glb_lt; auto|]. intros y Hy. pose proof (Rmin_l r r'). pose proof (Rmin_r r r').
  split; [apply R|apply R']; lra.
Qed.

Lemma beside_all (Pr : pt -> Prop) : (forall y, Pr y) -> beside Pr.
Proof. intro H. exists 1. split; [lra|]. intros. exists 1. split; auto. lra. Qed.

(* The arc tends to w. *)
Lemma arc_near e : 0 < e -> exists T, 0 < T /\ forall t, 0 < t < T -> N (sub (arc_at t) w) < e.
Proof.
  intro He.
  assert (G : forall m, (m <= n)%nat -> exists B, 0 <= B /\
    forall t, 0 < t < 1 -> sum m (fun i => Rabs (sub (arc_at t) w i)) <= t * B).
  { induction m; intros Hm; [exists 0; split; [lra|intros; simpl; lra]|].
    destruct IHm as [B [B0 HB]]; [lia|]. destruct (from_w m) as [u Hu]; [lia|]. destruct (uval_bound u) as [C [C0 HC]].
    exists (B + C). split; [lra|]. intros t Ht. simpl. specialize (HB t Ht). specialize (HC t Ht).
    unfold sub at 2. unfold arc_at at 2. rewrite Hu. simpl. rewrite Q2R_0.
    replace (w m + (0 + t * uval u t) - w m) with (t * uval u t) by ring. rewrite Rabs_mult, (Rabs_right t) by lra. nra. }
  destruct (G n (le_n n)) as [B [B0 HB]]. exists (Rmin 1 (e / (B + 1))).
  split; [apply Rmin_glb_lt; try lra; apply Rdiv_lt_0_compat; lra|]. intros t Ht.
  pose proof (Rmin_l 1 (e / (B + 1))). pose proof (Rmin_r 1 (e / (B + 1))). specialize (HB t ltac:(lra)). unfold Space.N.
  assert (K : t < e / (B + 1)) by lra. apply Rmult_lt_compat_r with (r := B + 1) in K; try lra.
  unfold Rdiv in K. rewrite Rmult_assoc, Rinv_l in K by lra. nra.
Qed.

Lemma beside_near e : 0 < e -> beside (fun y => N (sub y w) < e).
Proof.
  intro He. destruct (arc_near (e / 2)) as [T [T1 T2]]; [lra|]. exists T. split; auto. intros t Ht. specialize (T2 t Ht).
  exists (e / 2). split; [lra|]. intros y Hy. pose proof (N_tri n w (arc_at t) y). lra.
Qed.

Notation rising := (fun d => rises (along n d A)).

Lemma rising_beside d : rising d = true -> beside (fun y => 0 < pval n d (sub y w)).
Proof.
  intro H. destruct (rises_val _ H) as [T [T1 T2]]. exists T. split; auto. intros t Ht. specialize (T2 t Ht).
  rewrite along_val in T2. apply (cont_sign n (fun y => pval n d (sub y w)) (arc_at t)); auto. apply poly_cont.
Qed.

Lemma rising_all ds : forallb rising ds = true -> beside (positive n w ds).
Proof.
  induction ds as [|d ds IH]; simpl; intros H; [apply beside_all; intro; constructor|].
  apply andb_true_iff in H as [H1 H2].
  apply (beside_imp _ _ (beside_and _ _ (rising_beside d H1) (IH H2))). intros y [Y1 Y2]. constructor; auto.
Qed.

(* Beside the arc all that is known is right. *)
Theorem follow_beside P D E env E' : follow rising P D E = Some E' ->
  beside (fun y => agree n w E (env y) y /\ positive n w D y) -> beside (fun y => agree n w E' (runR (env y) P) y).
Proof.
  apply (follow_sound n w beside beside_imp beside_and beside_near rising rising_all).
Qed.
End Arc.

(* {1 From balls to limits of gradients} *)

Definition grads n (ps : list poly) : list (list Q) := map (fun p => map (plinear p) (seq 0 n)) ps.

Lemma nth_grads n ps j i : (i < n)%nat -> Q2R (nth i (nth j (grads n ps) []) 0%Q) = pgrad n (nth j ps []) origin i.
Proof.
  intro Hi. rewrite plinear_val by auto. f_equal. unfold grads. destruct (Nat.ltb_spec j (length ps)).
  - rewrite (nth_indep _ [] (map (plinear []) (seq 0 n))) by (rewrite map_length; auto).
    rewrite (map_nth (fun p => map (plinear p) (seq 0 n))).
    rewrite (nth_indep _ 0%Q (plinear (nth j ps []) 0%nat)) by (rewrite map_length, seq_length; auto).
    rewrite map_nth, seq_nth by auto. reflexivity.
  - rewrite (nth_overflow (map _ ps)) by (rewrite map_length; auto). rewrite (nth_overflow ps) by auto. destruct i;
    reflexivity.
Qed.

(* Gradients of finitely many polynomials near w are near those at w. *)
Lemma grads_near n w (ps : list poly) e : 0 < e -> exists d, 0 < d /\ forall y, N n (sub y w) < d ->
  forall j i, (j < length ps)%nat -> (i < n)%nat -> Rabs (pgrad n (nth j ps []) (sub y w) i - pgrad n (nth j ps []) origin
    i) < e.
Proof.
  intro He. induction ps as [|p ps [d [D1 D2]]]; [exists 1; split; [lra|simpl; intros; lia]|].
  destruct (cont_all n (fun y => pgrad n p (sub y w)) w (fun i Hi =>
    c1_cont _ _ _ (poly_C1 n w p) i Hi w) e He) as [d' [D1' D2']].
  assert (O : forall i, (i < n)%nat -> pgrad n p (sub w w) i = pgrad n p origin i).
  { intros i _. replace (sub w w) with origin; auto. apply FunctionalExtensionality.functional_extensionality.
    intro k. unfold sub, origin. ring. }
  exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|]. intros y Hy j i Hj Hi.
  pose proof (Rmin_l d d'). pose proof (Rmin_r d d'). destruct j as [|j]; simpl nth.
  - rewrite <- O by auto. apply D2'; auto; lra.
  - apply D2; auto; [lra|simpl in Hj; lia].
Qed.

(* F is on a ball around x what the polynomials ps are. *)
Definition is_on n w m (F : map_) (ps : list poly) x r := forall y, N n (sub y x) < r ->
  forall j, (j < m)%nat -> F y j = pval n (nth j ps []) (sub y w).

Lemma is_on_diff n w m F ps x r : 0 < r -> is_on n w m F ps x r ->
  forall j, (j < m)%nat -> diff_at n (fun y => F y j) x (pgrad n (nth j ps []) (sub x w)).
Proof.
  intros Hr H j Hj. apply (diff_local n (fun y => pval n (nth j ps []) (sub y w)) _ _ _ r Hr).
  - intros y Hy. apply (H y Hy j Hj).
  - apply (c1_diff _ _ _ (poly_C1 n w (nth j ps []))).
Qed.

(* Balls as near to w as one likes, on each of which F is one of finitely many lists of polynomials: one gradient of
   all at w is a limit of gradients. *)
Lemma balls_bouligand n w m F (L : list (list poly)) G :
  (forall ps, In ps L -> length ps = m /\ forall j i, (j < m)%nat -> (i < n)%nat -> pgrad n (nth j ps []) origin i = G j i) ->
  (forall e, 0 < e -> exists x r ps, N n (sub x w) < e /\ 0 < r /\ In ps L /\ is_on n w m F ps x r) -> Bouligand n m F w G.
Proof.
  intros HL HB e He.
  assert (D : exists d, 0 < d /\ forall ps y, In ps L -> N n (sub y w) < d -> forall j i, (j < m)%nat -> (i < n)%nat ->
    Rabs (pgrad n (nth j ps []) (sub y w) i - G j i) < e).
  { clear HB. induction L as [|ps L IH]; [exists 1; split; [lra|intros ? ? []]|].
    destruct IH as [d [D1 D2]]; [intros; apply HL; right; auto|]. destruct (HL ps (or_introl eq_refl)) as [H1 H2].
    destruct (grads_near n w ps e He) as [d' [D1' D2']]. exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|].
    intros qs y [Hq|Hq] Hy j i Hj Hi; pose proof (Rmin_l d d'); pose proof (Rmin_r d d').
    - subst qs. rewrite <- H2 by auto. apply D2'; auto; [lra|lia].
    - apply D2; auto. lra. }
  destruct D as [d [D1 D2]]. destruct (HB (Rmin e d)) as [x [r [ps [B1 [B2 [B3 B4]]]]]]; [apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l e d). pose proof (Rmin_r e d).
  exists x, (fun j => pgrad n (nth j ps []) (sub x w)). split; [lra|]. split.
  - apply (is_on_diff n w m F ps x r); auto.
  - intros j i Hj Hi. apply D2; auto. lra.
Qed.

Lemma polys_at n w l E env y ps : polys l E = Some ps -> agree n w E env y ->
  length ps = length l /\ forall j, (j < length l)%nat -> nth (nth j l 0%nat) env 0 = pval n (nth j ps []) (sub y w).
Proof.
  revert ps; induction l as [|k l IH]; simpl; intros ps H A; [inversion H; split; auto; intros; lia|].
  destruct (slot E k) as [p|] eqn:S; try discriminate. destruct (polys l E) as [qs|]; try discriminate.
  inversion H; subst. destruct (IH qs eq_refl A) as [H1 H2]. split; [simpl; auto|].
  intros [|j] Hj; simpl; [apply (agree_some n w E env y k p A S)|apply H2; lia].
Qed.

Lemma start_at n w y : agree n (real w) (start n w) (map y (seq 0 n)) y.
Proof.
  unfold start, agree. assert (G : forall l, (forall k, In k l -> (k < n)%nat) ->
    Forall2 (fun x v => is_at n (real w) x v y) (map (fun k => Some (padd (term (nth k w 0%Q) []) [(1%Q,
      [k])])) l) (map y l)).
  { induction l as [|k l IH]; simpl; intros H; constructor.
    - unfold is_at. rewrite padd_val, term_val. simpl. unfold co. specialize (H k (or_introl eq_refl)).
      destruct (Nat.ltb_spec k n); [|lia]. unfold sub, real. rewrite Q2R_1. ring.
    - apply IH. intros; apply H; auto. }
  apply G. intros k Hk. apply in_seq in Hk. lia.
Qed.

Lemma polys_length l E ps : polys l E = Some ps -> length ps = length l.
Proof.
  revert ps; induction l as [|k l IH]; simpl; intros ps H; [inversion H; auto|].
  destruct (slot E k); try discriminate. destruct (polys l E); try discriminate. inversion H; simpl; auto.
Qed.

(* The gradient of the cell that an arc leads into is a limit of gradients. *)
Theorem cell_sound n P outs w steps ps : cell n P outs w steps = Some ps ->
  Bouligand n (length outs) (value n P outs) (real w) (reals (grads n ps)).
Proof.
  unfold cell. destruct (follow _ _ _ _) as [E|] eqn:F; try discriminate. intro HP.
  assert (From : forall i, (i < n)%nat -> exists u, nth i (arc n steps) [] = 0%Q :: u).
  { intros i Hi. unfold arc. eexists.
    rewrite (nth_indep _ [] ((fun i => 0%Q :: map (fun d => nth i d 0%Q) steps) 0%nat)) by (rewrite map_length, seq_length;
      auto).
    rewrite (map_nth (fun i => 0%Q :: map (fun d => nth i d 0%Q) steps)). reflexivity. }
  pose proof (follow_beside n (real w) (arc n steps) From P [] (start n w) (fun y => map y (seq 0 n)) E F) as B.
  assert (B' : beside n (real w) (arc n steps) (fun y => agree n (real w) E (runR (map y (seq 0 n)) P) y)).
  { apply B, beside_all. intro y. split; [apply start_at|constructor]. }
  apply (balls_bouligand n (real w) _ _ [ps]).
  - intros qs [H|[]]. subst qs. split; [apply (polys_length _ _ _ HP)|]. intros j i Hj Hi. symmetry. apply nth_grads; auto.
  - intros e He. destruct B' as [T [T1 T2]]. destruct (arc_near n (real w) _ From e He) as [T' [T1' T2']].
    assert (M : 0 < Rmin T T') by (apply Rmin_glb_lt; auto). pose proof (Rmin_l T T'). pose proof (Rmin_r T T').
    destruct (T2 (Rmin T T' / 2) ltac:(lra)) as [r [R1 R2]].
    exists (arc_at (real w) (arc n steps) (Rmin T T' / 2)), r, ps. split; [apply T2'; lra|]. split; auto. split; [left;
      auto|].
    intros y Hy j Hj. apply (proj2 (polys_at n (real w) outs E _ y ps HP (R2 y Hy)) j Hj).
Qed.
