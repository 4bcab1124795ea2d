(* Losses: smooth functions of all outputs. A limit of F's Jacobians becomes, by the chain rule, a limit of the loss's
   gradients. No exponential is computed for that. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool FunctionalExtensionality.
From Clarke Require Import Space Calculus Numbers Program Lipschitz.
Import ListNotations.
Open Scope R_scope.

(* {1 The losses} *)

(* Of the outputs of all samples, end to end: their sum; the mean of the squares of their distances from targets; cross
   entropy, of so many samples and classes, with labels. *)
Inductive loss := Sum | Mse (targets : list Q) | Ce (samples classes : nat) (labels : list nat).

Definition delta (i k : nat) : R := if Nat.eqb i k then 1 else 0.
Definition target (l : list Q) k := Q2R (nth k l 0%Q).
(* The exponential function and the logarithm, by their derivatives. Coq's own need one more axiom, which defines them. *)
Definition exponentials (e log : R -> R) := e 0 = 1 /\ log 1 = 0 /\ (forall x, 0 < e x /\ derivable_pt_lim e x (e x)) /\
  forall x, 0 < x -> derivable_pt_lim log x (/ x).
Definition total_exp e classes (z : pt) b := sum classes (fun c => e (z (b * classes + c)%nat) : R).
Definition loss_at e log (l : loss) m (z : pt) : R := match l with
  | Sum => sum m z
  | Mse y => / INR m * sum m (fun k => (z k - target y k) * (z k - target y k))
  | Ce s c labels => / INR s * sum s (fun b => log (total_exp e c z b) - z (b * c + nth b labels 0)%nat) end.
(* Its gradient at z, in the outputs. *)
Definition loss_slope e (l : loss) m (z : pt) (i : nat) : R := match l with
  | Sum => sum m (fun k => delta i k)
  | Mse y => / INR m * sum m (fun k => 2 * (z k - target y k) * delta i k)
  | Ce s c labels => / INR s * sum s (fun b =>
      / total_exp e c z b * sum c (fun j => e (z (b * c + j)%nat) * delta i (b * c + j)%nat)
      - delta i (b * c + nth b labels 0)%nat) end.
(* What it needs of its data: as many outputs as samples have classes, and labels that are classes. *)
Definition fits (l : loss) m : bool := match l with
  | Sum | Mse _ => true
  | Ce s c labels => Nat.ltb 0 c && Nat.eqb m (s * c) && Nat.eqb (length labels) s && forallb (fun k => Nat.ltb k c) labels end.

(* {1 Smooth functions} *)

Section Smooth.
Variable m : nat.
Notation C1 := (C1 m).

Lemma C1_ext f f' g g' : (forall z, g z = f z) -> (forall z i, g' z i = f' z i) -> C1 f f' -> C1 g g'.
Proof.
  intros E E'. replace g with f by (apply functional_extensionality; auto).
  replace g' with f' by (apply functional_extensionality; intro; apply functional_extensionality; auto). auto.
Qed.

Lemma C1_entry k : (k < m)%nat -> C1 (fun z => z k) (fun _ i => delta i k).
Proof. intro H. apply (C1_ext (fun z => z k - (fun _ => 0) k) (fun _ i => if Nat.eqb i k then 1 else 0));
  [intro; ring|auto|exact (C1_coord m k (fun _ => 0) H)]. Qed.

Lemma C1_sum K (f : nat -> pt -> R) (f' : nat -> pt -> pt) : (forall k, (k < K)%nat -> C1 (f k) (f' k)) ->
  C1 (fun z => sum K (fun k => f k z)) (fun z i => sum K (fun k => f' k z i)).
Proof.
  induction K as [|K IH]; intros H; [exact (C1_const m 0)|]. simpl. apply C1_add; [apply IH; intros; apply H; lia|apply H; lia].
Qed.

Lemma C1_less f f' g g' : C1 f f' -> C1 g g' -> C1 (fun z => f z - g z) (fun z i => f' z i - g' z i).
Proof.
  intros F G. apply (C1_ext (fun z => f z + -1 * g z) (fun z i => f' z i + -1 * g' z i)); [intro; ring|intros; ring|].
  apply C1_add; auto. apply (C1_scale m (-1)); auto.
Qed.

(* A function of one number, behind f. *)
Lemma diff_compose f x g h l : diff_at m f x g -> derivable_pt_lim h (f x) l ->
  diff_at m (fun y => h (f y)) x (fun i => l * g i).
Proof.
  intros D H e He. pose proof (N_nonneg m g) as Ng. pose proof (Rabs_pos l) as Hl.
  destruct (H (e / (2 * (N m g + 1)))) as [d Hd]; [apply Rdiv_lt_0_compat; lra|].
  destruct (diff_cont m f x g D d (cond_pos d)) as [r [R1 R2]].
  destruct (D (Rmin 1 (e / (2 * (Rabs l + 1))))) as [r' [R1' R2']].
  { apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]. }
  exists (Rmin r r'). split; [apply Rmin_glb_lt; auto|]. intros y Hy. pose proof (Rmin_l r r'). pose proof (Rmin_r r r').
  specialize (R2 y ltac:(lra)). specialize (R2' y ltac:(lra)). pose proof (N_nonneg m (sub y x)) as Nh.
  set (u := N m (sub y x)) in *. rewrite dot_scale_l. set (t := dot m g (sub y x)) in *.
  pose proof (dot_bound m g (sub y x)) as B. fold t u in B. set (k := f y - f x) in *.
  set (eta := Rmin 1 (e / (2 * (Rabs l + 1)))) in *. pose proof (Rmin_l 1 (e / (2 * (Rabs l + 1)))) as M1.
  pose proof (Rmin_r 1 (e / (2 * (Rabs l + 1)))) as M2. fold eta in M1, M2.
  assert (Kb : Rabs k <= (N m g + 1) * u).
  { replace k with ((k - t) + t) by ring. eapply Rle_trans; [apply Rabs_triang|]. nra. }
  assert (P1 : Rabs (h (f y) - h (f x) - l * k) <= e / 2 * u).
  { destruct (Req_dec k 0) as [Z|Z].
    - assert (Ef : f y = f x) by (unfold k in Z; lra). rewrite Z, Ef. replace (h (f x) - h (f x) - l * 0) with 0 by ring.
      rewrite Rabs_R0. nra.
    - specialize (Hd k Z R2). replace (f x + k) with (f y) in Hd by (unfold k; ring).
      replace (h (f y) - h (f x) - l * k) with (((h (f y) - h (f x)) / k - l) * k) by (field; auto). rewrite Rabs_mult.
      apply Rle_trans with (e / (2 * (N m g + 1)) * ((N m g + 1) * u)).
      + apply Rmult_le_compat; auto using Rabs_pos. lra.
      + right. field. lra. }
  assert (P2 : Rabs (l * (k - t)) <= e / 2 * u).
  { rewrite Rabs_mult. apply Rle_trans with ((Rabs l + 1) * (e / (2 * (Rabs l + 1)) * u)).
    - apply Rmult_le_compat; auto using Rabs_pos; [lra|]. eapply Rle_trans; [apply R2'|]. apply Rmult_le_compat_r; auto.
    - right. field. lra. }
  replace (h (f y) - h (f x) - l * t) with ((h (f y) - h (f x) - l * k) + l * (k - t)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma C1_compose f f' h h' : C1 f f' -> (forall x, derivable_pt_lim h (f x) (h' (f x))) ->
  (forall x, cont m (fun y => h' (f y)) x) -> C1 (fun y => h (f y)) (fun y i => h' (f y) * f' y i).
Proof.
  intros [A B] H C. split; [intro; apply (diff_compose f x (f' x)); auto|].
  intros i Hi x. apply cont_mul; auto.
Qed.

Lemma C1_exp e f f' : (forall x, derivable_pt_lim e x (e x)) -> C1 f f' -> C1 (fun y => e (f y)) (fun y i => e (f y) * f' y i).
Proof.
  intros D F. apply (C1_compose f f' e e F); [intro; apply D|]. intro x.
  apply (diff_cont m _ x (fun i => e (f x) * f' x i)), diff_compose; [apply (c1_diff m _ _ F)|apply D].
Qed.

(* 1 / f is continuous where f is, and is positive. *)
Lemma cont_inv f x : (forall y, 0 < f y) -> cont m f x -> cont m (fun y => / f y) x.
Proof.
  intros P C e He. pose proof (P x) as Px. pose proof (Rmult_lt_0_compat _ _ Px Px) as Sq.
  pose proof (Rmult_lt_0_compat _ _ He Sq) as Ps. set (k := e * (f x * f x) / 2).
  assert (K : 0 < Rmin (f x / 2) k) by (apply Rmin_glb_lt; unfold k; lra).
  destruct (C _ K) as [d [D1 D2]]. exists d. split; auto. intros y Hy. specialize (D2 y Hy).
  pose proof (Rmin_l (f x / 2) k). pose proof (Rmin_r (f x / 2) k). pose proof (P y) as Py.
  assert (B : f x / 2 < f y) by (apply Rabs_def2 in D2; lra).
  assert (B' : f x * f x / 2 < f y * f x) by (apply Rmult_lt_compat_r with (r := f x) in B; lra).
  assert (B2 : k < e * (f y * f x)) by (apply Rmult_lt_compat_l with (r := e) in B'; unfold k; lra).
  replace (/ f y - / f x) with (- (f y - f x) * / (f y * f x)) by (field; lra).
  rewrite Rabs_mult, Rabs_Ropp, (Rabs_right (/ (f y * f x))) by (left; apply Rinv_0_lt_compat; lra).
  apply Rmult_lt_reg_r with (f y * f x); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma C1_log log f f' : (forall x, 0 < x -> derivable_pt_lim log x (/ x)) -> (forall y, 0 < f y) -> C1 f f' ->
  C1 (fun y => log (f y)) (fun y i => / f y * f' y i).
Proof.
  intros Hl P F. apply (C1_compose f f' log Rinv F); [intro; apply Hl, P|].
  intro x. apply cont_inv; auto. apply (C1_cont m f f' x F).
Qed.

Lemma sum_positive K f : (0 < K)%nat -> (forall k, (k < K)%nat -> 0 < f k) -> 0 < sum K f.
Proof.
  intros HK H. destruct K as [|K]; [lia|]. simpl. specialize (H K ltac:(lia)) as HK'.
  assert (0 <= sum K f) by (apply sum_nonneg; intros; left; apply H; lia). lra.
Qed.

Lemma entry_below s c b j : (b < s)%nat -> (j < c)%nat -> (b * c + j < s * c)%nat.
Proof. nia. Qed.

Theorem loss_smooth e log l : exponentials e log -> fits l m = true -> C1 (loss_at e log l m) (loss_slope e l m).
Proof.
  intros (_ & _ & Exp & Log). destruct l as [|y|s c labels]; simpl; intro H.
  - apply (C1_sum m (fun k z => z k) (fun k _ i => delta i k)). intros; apply C1_entry; auto.
  - apply (C1_scale m (/ INR m)). apply (C1_sum m (fun k z => (z k - target y k) * (z k - target y k))
      (fun k z i => 2 * (z k - target y k) * delta i k)). intros k Hk.
    assert (C : C1 (fun z => z k - target y k) (fun _ i => delta i k - 0)).
    { apply C1_less; [apply C1_entry; auto|apply C1_const]. }
    eapply C1_ext; [| |exact (C1_mul m _ _ _ _ C C)];
      intros; simpl; ring.
  - rewrite !andb_true_iff in H. destruct H as [[[Hc Hm] Hl] Ha]. apply Nat.ltb_lt in Hc. apply Nat.eqb_eq in Hm, Hl.
    apply (C1_scale m (/ INR s)). apply (C1_sum s (fun b z => log (total_exp e c z b) - z (b * c + nth b labels 0)%nat)
      (fun b z i => / total_exp e c z b * sum c (fun j => e (z (b * c + j)%nat) * delta i (b * c + j)%nat) -
        delta i (b * c + nth b labels 0)%nat)).
    intros b Hb. apply C1_less.
    + apply (C1_log log (fun z => total_exp e c z b)); [exact Log| |].
      * intro z. apply sum_positive; auto. intros; apply Exp.
      * apply (C1_sum c (fun j z => e (z (b * c + j)%nat)) (fun j z i => e (z (b * c + j)%nat) * delta i (b * c + j)%nat)).
        intros j Hj. apply C1_exp; [intro; apply Exp|]. apply C1_entry. subst m. apply entry_below; auto.
    + apply C1_entry. subst m. apply entry_below; auto. rewrite forallb_forall in Ha. apply Nat.ltb_lt, Ha, nth_In. lia.
Qed.
End Smooth.

(* {1 The chain rule} *)

Lemma dot_sum n m (a : nat -> R) (G : nat -> pt) h :
  dot n (fun i => sum m (fun j => a j * G j i)) h = sum m (fun j => a j * dot n (G j) h).
Proof.
  induction m as [|m IH]; simpl; [apply dot_zero_l|].
  rewrite (dot_add_l n (fun i => sum m (fun j => a j * G j i))), IH, dot_scale_l. auto.
Qed.

Lemma sum_bound m f B : (forall j, (j < m)%nat -> f j <= B) -> sum m f <= INR m * B.
Proof.
  induction m as [|m IH]; intros H; [simpl; lra|]. rewrite S_INR. simpl. specialize (H m ltac:(lia)) as Hm.
  assert (sum m f <= INR m * B) by (apply IH; intros; apply H; lia). lra.
Qed.

Lemma diff_outer n m (F : map_) x (G : jacobian) L g : (forall j, (j < m)%nat -> diff_at n (fun y => F y j) x (G j)) ->
  diff_at m L (F x) g -> diff_at n (fun y => L (F y)) x (fun i => sum m (fun j => g j * G j i)).
Proof.
  intros D H e He. pose proof (N_nonneg m g) as Ng. pose proof (pos_INR m) as Hm.
  set (K := sum m (fun j => N n (G j))). assert (HK : 0 <= K) by (apply sum_nonneg; intros; apply N_nonneg).
  destruct (H (e / (2 * (K + INR m + 1)))) as [d [D1 D2]]; [apply Rdiv_lt_0_compat; lra|].
  set (eta := Rmin 1 (e / (2 * (N m g * INR m + 1)))). assert (Gm : 0 <= N m g * INR m) by nra.
  assert (E0 : 0 < eta) by (apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]).
  pose proof (Rmin_l 1 (e / (2 * (N m g * INR m + 1)))) as E1. pose proof (Rmin_r 1 (e / (2 * (N m g * INR m + 1)))) as E2.
  fold eta in E1, E2.
  assert (Near : exists r, 0 < r /\ forall y, N n (sub y x) < r -> forall j, (j < m)%nat ->
    Rabs (F y j - F x j - dot n (G j) (sub y x)) <= eta * N n (sub y x)).
  { clear H D2 K HK Gm E2 Ng Hm. revert D. generalize m.
    induction m0 as [|k IH]; intro D; [exists 1; split; [lra|intros; lia]|].
    destruct IH as [r [R1 R2]]; [intros; apply D; lia|]. destruct (D k ltac:(lia) eta E0) as [r' [R1' R2']].
    exists (Rmin r r'). split; [apply Rmin_glb_lt; auto|]. intros y Hy j Hj. pose proof (Rmin_l r r'). pose proof (Rmin_r r r').
    destruct (Nat.eq_dec j k) as [J|J]; [subst; apply R2'; lra|apply R2; [lra|lia]]. }
  destruct Near as [r [R1 R2]]. exists (Rmin r (d / (K + INR m + 1))).
  split; [apply Rmin_glb_lt; auto; apply Rdiv_lt_0_compat; lra|]. intros y Hy.
  pose proof (Rmin_l r (d / (K + INR m + 1))). pose proof (Rmin_r r (d / (K + INR m + 1))).
  specialize (R2 y ltac:(lra)). set (u := N n (sub y x)) in *. assert (Hu : 0 <= u) by apply N_nonneg.
  assert (Fb : N m (sub (F y) (F x)) <= (K + INR m) * u).
  { unfold N at 1. apply Rle_trans with (sum m (fun j => N n (G j) * u + u)).
    - apply sum_le. intros j Hj. specialize (R2 j Hj). unfold sub at 1.
      replace (F y j - F x j) with ((F y j - F x j - dot n (G j) (sub y x)) + dot n (G j) (sub y x)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. pose proof (dot_bound n (G j) (sub y x)) as B. fold u in B. nra.
    - rewrite sum_add. assert (S1 : sum m (fun j => N n (G j) * u) = u * K).
      { unfold K. rewrite <- sum_scale. apply sum_ext. intros; ring. }
      rewrite S1. pose proof (sum_bound m (fun _ => u) u (fun j _ => Rle_refl u)). lra. }
  assert (Hd : N m (sub (F y) (F x)) < d).
  { eapply Rle_lt_trans; [apply Fb|]. assert (Q : u < d / (K + INR m + 1)) by lra.
    apply Rmult_lt_compat_r with (r := K + INR m + 1) in Q; [|lra].
    unfold Rdiv in Q. rewrite Rmult_assoc, Rinv_l in Q by lra. nra. }
  specialize (D2 (F y) Hd). rewrite dot_sum.
  assert (P1 : Rabs (L (F y) - L (F x) - dot m g (sub (F y) (F x))) <= e / 2 * u).
  { eapply Rle_trans; [apply D2|]. apply Rle_trans with (e / (2 * (K + INR m + 1)) * ((K + INR m + 1) * u)).
    - apply Rmult_le_compat_l; [left; apply Rdiv_lt_0_compat; lra|]. nra.
    - right. field. lra. }
  set (rest := fun j => F y j - F x j - dot n (G j) (sub y x)).
  assert (Er : dot m g (sub (F y) (F x)) - sum m (fun j => g j * dot n (G j) (sub y x)) = dot m g rest).
  { unfold dot at 1 3. replace (sum m (fun i => g i * sub (F y) (F x) i) - sum m (fun j => g j * dot n (G j) (sub y x)))
      with (sum m (fun i => g i * sub (F y) (F x) i) + -1 * sum m (fun j => g j * dot n (G j) (sub y x))) by ring.
    rewrite <- sum_scale, <- sum_add. apply sum_ext. intros j _. unfold rest, sub. ring. }
  assert (P2 : Rabs (dot m g rest) <= e / 2 * u).
  { eapply Rle_trans; [apply dot_bound|]. assert (Nr : N m rest <= INR m * (eta * u)) by (apply sum_bound; exact R2).
    apply Rle_trans with (N m g * (INR m * (eta * u))); [apply Rmult_le_compat_l; auto|].
    replace (N m g * (INR m * (eta * u))) with ((N m g * INR m) * (eta * u)) by ring.
    apply Rle_trans with ((N m g * INR m + 1) * (e / (2 * (N m g * INR m + 1)) * u)).
    - apply Rmult_le_compat; try lra; [nra|]. apply Rmult_le_compat_r; auto.
    - right. field. lra. }
  replace (L (F y) - L (F x) - sum m (fun j => g j * dot n (G j) (sub y x))) with
    ((L (F y) - L (F x) - dot m g (sub (F y) (F x))) + dot m g rest) by (rewrite <- Er; ring).
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(* Sums of products are near where their factors are. *)
Lemma products_near n m : forall (a : nat -> R) (b : nat -> pt) e, 0 < e -> exists r, 0 < r /\ forall a' (b' : nat -> pt),
  (forall j, (j < m)%nat -> Rabs (a' j - a j) < r) -> (forall j i, (j < m)%nat -> (i < n)%nat -> Rabs (b' j i - b j i) < r) ->
  forall i, (i < n)%nat -> Rabs (sum m (fun j => a' j * b' j i) - sum m (fun j => a j * b j i)) < e.
Proof.
  induction m as [|m IH]; intros a b e He.
  - exists 1. split; [lra|]. intros. simpl. rewrite Rminus_0_r, Rabs_R0. auto.
  - destruct (IH a b (e / 2)) as [r [R1 R2]]; [lra|]. pose proof (N_nonneg n (b m)) as Nb. pose proof (Rabs_pos (a m)) as Pa.
    set (k := Rmin 1 (e / (2 * (N n (b m) + Rabs (a m) + 2)))).
    assert (K0 : 0 < k) by (apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]).
    pose proof (Rmin_l 1 (e / (2 * (N n (b m) + Rabs (a m) + 2)))) as K1.
    pose proof (Rmin_r 1 (e / (2 * (N n (b m) + Rabs (a m) + 2)))) as K2. fold k in K1, K2.
    exists (Rmin r k). split; [apply Rmin_glb_lt; auto|]. intros a' b' Ha Hb i Hi.
    pose proof (Rmin_l r k). pose proof (Rmin_r r k). simpl.
    assert (P : Rabs (sum m (fun j => a' j * b' j i) - sum m (fun j => a j * b j i)) < e / 2).
    { apply R2; auto; intros; [specialize (Ha j ltac:(lia)); lra|specialize (Hb j i0 ltac:(lia) H2); lra]. }
    specialize (Ha m ltac:(lia)). specialize (Hb m i ltac:(lia) Hi). pose proof (N_term n (b m) i Hi) as Bi.
    assert (Q : Rabs (a' m * b' m i - a m * b m i) < e / 2).
    { replace (a' m * b' m i - a m * b m i) with
        ((a' m - a m) * (b' m i - b m i) + (a' m - a m) * b m i + a m * (b' m i - b m i)) by ring.
      assert (K3 : k * (N n (b m) + Rabs (a m) + 2) <= e / 2).
      { apply Rmult_le_compat_r with (r := N n (b m) + Rabs (a m) + 2) in K2; [|lra].
        replace (e / (2 * (N n (b m) + Rabs (a m) + 2)) * (N n (b m) + Rabs (a m) + 2)) with (e / 2) in K2 by (field; lra).
        auto. }
      eapply Rle_lt_trans; [apply Rabs_triang|]. eapply Rle_lt_trans; [apply Rplus_le_compat_r; apply Rabs_triang|].
      rewrite !Rabs_mult. pose proof (Rabs_pos (a' m - a m)). pose proof (Rabs_pos (b' m i - b m i)).
      pose proof (Rabs_pos (b m i)). nra. }
    replace (sum m (fun j => a' j * b' j i) + a' m * b' m i - (sum m (fun j => a j * b j i) + a m * b m i)) with
      ((sum m (fun j => a' j * b' j i) - sum m (fun j => a j * b j i)) + (a' m * b' m i - a m * b m i)) by ring.
    eapply Rle_lt_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma outputs_near n m (F : map_) w d : (forall j, (j < m)%nat -> cont n (fun y => F y j) w) -> 0 < d ->
  exists r, 0 < r /\ forall y, N n (sub y w) < r -> N m (sub (F y) (F w)) < d.
Proof.
  revert d. induction m as [|m IH]; intros d C Hd; [exists 1; split; [lra|intros; unfold N; simpl; auto]|].
  destruct (IH (d / 2)) as [r [R1 R2]]; [intros; apply C; lia|lra|].
  destruct (C m ltac:(lia) (d / 2)) as [r' [R1' R2']]; [lra|].
  exists (Rmin r r'). split; [apply Rmin_glb_lt; auto|]. intros y Hy. pose proof (Rmin_l r r'). pose proof (Rmin_r r r').
  specialize (R2 y ltac:(lra)). specialize (R2' y ltac:(lra)). unfold N in *. simpl. unfold sub at 2. lra.
Qed.

(* The loss of F, and the gradient that the chain rule makes of F's Jacobian. *)
Definition composed e log (l : loss) m (F : map_) : map_ := fun x _ => loss_at e log l m (F x).
Definition chained e (l : loss) m (z : pt) (G : jacobian) : jacobian :=
  fun _ i => sum m (fun j => loss_slope e l m z j * G j i).

(* The loss reads m numbers alone. *)
Lemma loss_ext e log l m z z' : fits l m = true -> (forall j, (j < m)%nat -> z j = z' j) ->
  loss_at e log l m z = loss_at e log l m z' /\ forall i, loss_slope e l m z i = loss_slope e l m z' i.
Proof.
  intros Fl H. destruct l as [|y|s c labels]; simpl in *.
  - split; auto. apply sum_ext, H.
  - split; [|intro i]; f_equal; apply sum_ext; intros k Hk; rewrite H; auto.
  - rewrite !andb_true_iff in Fl. destruct Fl as [[[_ Hm] Hl] Ha]. apply Nat.eqb_eq in Hm, Hl. subst m.
    assert (T : forall b, (b < s)%nat -> total_exp e c z b = total_exp e c z' b).
    { intros b Hb. apply sum_ext. intros j Hj. rewrite H; auto. apply entry_below; auto. }
    assert (L : forall b, (b < s)%nat -> (nth b labels 0 < c)%nat).
    { intros b Hb. rewrite forallb_forall in Ha. apply Nat.ltb_lt, Ha, nth_In. lia. }
    split; [|intro i]; f_equal; apply sum_ext; intros b Hb; rewrite T by auto.
    + rewrite (H (b * c + nth b labels 0)%nat); auto. apply entry_below; auto.
    + f_equal. f_equal. apply sum_ext. intros j Hj. rewrite H; auto. apply entry_below; auto.
Qed.

Theorem loss_bouligand ex log l n m F w G : exponentials ex log -> fits l m = true ->
  (forall j, (j < m)%nat -> cont n (fun y => F y j) w) ->
  Bouligand n m F w G -> Bouligand n 1 (composed ex log l m F) w (chained ex l m (F w) G).
Proof.
  intros Log Fl C B e He. pose proof (loss_smooth m ex log l Log Fl) as L.
  destruct (products_near n m (loss_slope ex l m (F w)) G e He) as [r [R1 R2]].
  destruct (cont_all m (loss_slope ex l m) (F w) (fun j Hj => c1_cont m _ _ L j Hj (F w)) r R1) as [d [D1 D2]].
  destruct (outputs_near n m F w d C D1) as [k [K1 K2]].
  destruct (B (Rmin e (Rmin r k))) as (x & J & X1 & X2 & X3); [repeat apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l e (Rmin r k)). pose proof (Rmin_r e (Rmin r k)). pose proof (Rmin_l r k). pose proof (Rmin_r r k).
  exists x, (chained ex l m (F x) J). split; [lra|]. split.
  - intros j _. unfold composed, chained. apply (diff_outer n m F x J (loss_at ex log l m)); auto. apply (c1_diff m _ _ L).
  - intros j i _ Hi. unfold chained. apply R2; auto.
    + intros j' Hj. apply D2; auto. apply K2. lra.
    + intros j' i' Hj' Hi'. specialize (X3 j' i' Hj' Hi'). lra.
Qed.

(* The chain rule is linear in the Jacobian, so a convex combination of limits becomes one. *)
Theorem loss_clarke ex log l n m F w G : exponentials ex log -> fits l m = true ->
  (forall j, (j < m)%nat -> cont n (fun y => F y j) w) ->
  Clarke n m F w G -> Clarke n 1 (composed ex log l m F) w (chained ex l m (F w) G).
Proof.
  intros Log Fl C (L & L1 & L2 & L3). exists (map (fun c => (fst c, chained ex l m (F w) (snd c))) L). split; [|split].
  - rewrite Forall_map. apply (Forall_impl _ (P := fun c => 0 <= fst c /\ Bouligand n m F w (snd c))); auto.
    intros c [H1 H2]. split; auto. apply loss_bouligand; auto.
  - rewrite <- L2. clear. unfold weights. induction L as [|c L IH]; simpl; auto. rewrite IH. auto.
  - intros j i _ Hi. transitivity (sum m (fun j => loss_slope ex l m (F w) j * combine L j i)).
    + apply sum_ext. intros k Hk. rewrite L3; auto.
    + clear. unfold combine. induction L as [|c L IH]; simpl.
      * rewrite (sum_ext m _ (fun _ => 0)) by (intros; ring). apply sum_zero.
      * rewrite <- IH. unfold chained. rewrite <- sum_scale, <- sum_add. apply sum_ext. intros k _.
        rewrite Rmult_plus_distr_l. f_equal. rewrite <- !Rmult_assoc, (Rmult_comm _ (fst c)). reflexivity.
Qed.

Lemma lipschitz_cont n w f : lipschitz n w f -> cont n f w.
Proof.
  intros (L & e & L1 & L2 & L3) d Hd. exists (Rmin e (d / (L + 1))).
  split; [apply Rmin_glb_lt; auto; apply Rdiv_lt_0_compat; lra|]. intros y Hy.
  pose proof (Rmin_l e (d / (L + 1))). pose proof (Rmin_r e (d / (L + 1))).
  specialize (L3 y w ltac:(lra) ltac:(rewrite N_self; auto)). pose proof (N_nonneg n (sub y w)) as Nh.
  assert (Q : N n (sub y w) < d / (L + 1)) by lra. apply Rmult_lt_compat_r with (r := L + 1) in Q; [|lra].
  unfold Rdiv in Q. rewrite Rmult_assoc, Rinv_l in Q by lra. nra.
Qed.
