(* A program without comparisons is Lipschitz near w, so the Clarke subdifferential is what Clarke defines. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool Permutation Sorted.
From Clarke Require Import Space Calculus Numbers Program Rank.
Import ListNotations.
Open Scope R_scope.

Definition without_comparisons (P : program) := forallb (fun x : hint * instr =>
  match snd x with Test _ _ _ | Sel _ _ _ => false | _ => true end) P.

(* {1 Kinks and order statistics move no more than their arguments} *)

Lemma kink_moves a b s t : Rabs (kinkR a b s - kinkR a b t) <= (Rabs (Q2R a) + Rabs (Q2R b)) * Rabs (s - t).
Proof.
  unfold kinkR. set (p := Q2R a). set (q := Q2R b). pose proof (Rabs_pos p) as Hp. pose proof (Rabs_pos q) as Hq.
  pose proof (Rabs_pos (s - t)) as Hst.
  destruct (Rlt_dec s 0), (Rlt_dec t 0).
  - replace (p * s - p * t) with (p * (s - t)) by ring. rewrite Rabs_mult. nra.
  - apply Rle_trans with (Rabs p * Rabs s + Rabs q * Rabs t).
    + replace (p * s - q * t) with (p * s + - (q * t)) by ring. eapply Rle_trans; [apply Rabs_triang|].
      rewrite Rabs_Ropp, !Rabs_mult. lra.
    + rewrite (Rabs_left s), (Rabs_right t), (Rabs_left (s - t)) by lra. nra.
  - apply Rle_trans with (Rabs q * Rabs s + Rabs p * Rabs t).
    + replace (q * s - p * t) with (q * s + - (p * t)) by ring. eapply Rle_trans; [apply Rabs_triang|].
      rewrite Rabs_Ropp, !Rabs_mult. lra.
    + rewrite (Rabs_right s), (Rabs_left t), (Rabs_right (s - t)) by lra. nra.
  - replace (q * s - q * t) with (q * (s - t)) by ring. rewrite Rabs_mult. nra.
Qed.

Definition close d := Forall2 (fun a b => - d <= a - b <= d).

Lemma insert_same x l : falling (x :: l) -> insertR x l = x :: l.
Proof.
  intro H. destruct l as [|y l]; simpl; auto. inversion H as [|? ? _ A]; subst. inversion A; subst.
  destruct (Rlt_dec x y); [lra|auto].
Qed.

(* Numbers that move by d at most, sorted, move by d at most. *)
Lemma insert_close d l : forall l' x x', 0 <= d -> falling l -> falling l' -> close d l l' -> - d <= x - x' <= d ->
  close d (insertR x l) (insertR x' l').
Proof.
  induction l as [|a l IH]; intros l' x x' Hd F F' C X; inversion C as [|? a' ? k A B]; subst; simpl.
  - constructor; [lra|constructor].
  - inversion F as [|? ? F1 F2]; subst. inversion F' as [|? ? F1' F2']; subst.
    destruct (Rlt_dec x a), (Rlt_dec x' a').
    + constructor; [lra|]. apply IH; auto.
    + constructor; [lra|]. rewrite <- (insert_same a' k F'). apply IH; auto; lra.
    + constructor; [lra|]. rewrite <- (insert_same a l F). apply IH; auto; lra.
    + constructor; [lra|]. constructor; auto.
Qed.

Lemma sort_close d l l' : 0 <= d -> close d l l' -> close d (sortR l) (sortR l').
Proof.
  intros Hd C. induction C; simpl; [constructor|]. apply insert_close; auto using sort_falling.
Qed.

Lemma kth_moves d r l l' : 0 <= d -> close d l l' -> Rabs (kthR r l - kthR r l') <= d.
Proof.
  intros Hd C. unfold kthR. pose proof (sort_close d l l' Hd C) as S.
  assert (K : - d <= nth (pred r) (sortR l) 0 - nth (pred r) (sortR l') 0 <= d).
  { generalize (pred r). induction S as [|a b k k' A S IH]; intros [|m]; simpl; auto; lra. }
  apply Rabs_le. lra.
Qed.

(* {1 Programs} *)

Section Lipschitz.
Variable n : nat.
Variable w : pt.
Notation N := (N n).

(* On a ball around w. *)
Definition lipschitz (f : pt -> R) := exists L e, 0 <= L /\ 0 < e /\ forall x y, N (sub x w) < e -> N (sub y w) < e ->
  Rabs (f x - f y) <= L * N (sub x y).

Lemma lipschitz_const c : lipschitz (fun _ => c).
Proof.
  exists 0, 1. repeat split; try lra. intros. replace (c - c) with 0 by ring. rewrite Rabs_R0. lra.
Qed.

Lemma lipschitz_coord k : (k < n)%nat -> lipschitz (fun y => y k).
Proof.
  intro Hk. exists 1, 1. repeat split; try lra. intros x y _ _. rewrite Rmult_1_l. apply (N_term n (sub x y) k Hk).
Qed.

Lemma lipschitz_ext f g : (forall y, f y = g y) -> lipschitz f -> lipschitz g.
Proof. intros E (L & e & H1 & H2 & H3). exists L, e. repeat split; auto. intros. rewrite <- !E. auto. Qed.

(* What moves no more than k times f and k times g together. *)
Lemma lipschitz_two f g h k : 0 <= k -> lipschitz f -> lipschitz g ->
  (exists e, 0 < e /\ forall x y, N (sub x w) < e -> N (sub y w) < e ->
    Rabs (h x - h y) <= k * Rabs (f x - f y) + k * Rabs (g x - g y)) -> lipschitz h.
Proof.
  intros Hk (L & e & L1 & L2 & L3) (L' & e' & L1' & L2' & L3') [d [D1 D2]].
  exists (k * L + k * L'), (Rmin d (Rmin e e')). split; [nra|]. split; [repeat apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l d (Rmin e e')). pose proof (Rmin_r d (Rmin e e')). pose proof (Rmin_l e e'). pose proof (Rmin_r e e').
  intros x y Hx Hy. specialize (D2 x y ltac:(lra) ltac:(lra)). specialize (L3 x y ltac:(lra) ltac:(lra)).
  specialize (L3' x y ltac:(lra) ltac:(lra)). eapply Rle_trans; [apply D2|]. nra.
Qed.

Lemma lipschitz_add c f g : lipschitz f -> lipschitz g -> lipschitz (fun y => c * f y + g y).
Proof.
  intros F G. pose proof (Rabs_pos c). apply (lipschitz_two f g _ (Rabs c + 1)); auto; [lra|]. exists 1. split; [lra|].
  intros x y _ _. replace (c * f x + g x - (c * f y + g y)) with (c * (f x - f y) + (g x - g y)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. pose proof (Rabs_pos (f x - f y)).
    pose proof (Rabs_pos (g x - g y)). nra.
Qed.

Lemma lipschitz_bounded f : lipschitz f -> exists B e, 0 <= B /\ 0 < e /\ forall x, N (sub x w) < e -> Rabs (f x) <= B.
Proof.
  intros (L & e & L1 & L2 & L3). pose proof (Rabs_pos (f w)). exists (Rabs (f w) + L * e), e. split; [nra|]. split; auto.
  intros x Hx. specialize (L3 x w Hx ltac:(rewrite N_self; auto)). replace (f x) with (f w + (f x - f w)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (N_nonneg n (sub x w)). nra.
Qed.

Lemma lipschitz_mul f g : lipschitz f -> lipschitz g -> lipschitz (fun y => f y * g y).
Proof.
  intros F G. destruct (lipschitz_bounded f F) as (A & e & A1 & A2 & A3).
    destruct (lipschitz_bounded g G) as (B & e' & B1 & B2 & B3).
  apply (lipschitz_two f g _ (A + B)); auto; [lra|]. exists (Rmin e e'). split; [apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l e e'). pose proof (Rmin_r e e'). intros x y Hx Hy.
  specialize (A3 x ltac:(lra)). specialize (B3 y ltac:(lra)).
  replace (f x * g x - f y * g y) with (f x * (g x - g y) + g y * (f x - f y)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  pose proof (Rabs_pos (f x - f y)). pose proof (Rabs_pos (g x - g y)). nra.
Qed.

Lemma lipschitz_kink a b f : lipschitz f -> lipschitz (fun y => kinkR a b (f y)).
Proof.
  intro F. pose proof (Rabs_pos (Q2R a)). pose proof (Rabs_pos (Q2R b)).
  apply (lipschitz_two f f _ (Rabs (Q2R a) + Rabs (Q2R b))); auto; [lra|]. exists 1. split; [lra|].
  intros x y _ _. eapply Rle_trans; [apply kink_moves|]. pose proof (Rabs_pos (f x - f y)). nra.
Qed.

(* Finitely many functions have one constant and one ball. *)
Lemma lipschitz_all fs : Forall lipschitz fs -> exists L e, 0 <= L /\ 0 < e /\ forall x y, N (sub x w) < e ->
  N (sub y w) < e ->
  close (L * N (sub x y)) (map (fun f => f x) fs) (map (fun f => f y) fs).
Proof.
  induction 1 as [|f fs (L & e & L1 & L2 & L3) H (L' & e' & L1' & L2' & L3')].
  - exists 0, 1. repeat split; try lra. intros. constructor.
  - exists (L + L'), (Rmin e e'). split; [lra|]. split; [apply Rmin_glb_lt; auto|]. intros x y Hx Hy.
    pose proof (Rmin_l e e'). pose proof (Rmin_r e e'). pose proof (N_nonneg n (sub x y)). simpl. constructor.
    + specialize (L3 x y ltac:(lra) ltac:(lra)).
      assert (K : Rabs (f x - f y) <= (L + L') * N (sub x y)) by nra.
      split; [|eapply Rle_trans; [apply Rle_abs|exact K]].
      pose proof (Rle_abs (- (f x - f y))) as RA. rewrite Rabs_Ropp in RA. lra.
    + specialize (L3' x y ltac:(lra) ltac:(lra)). clear -L3' L1 H2. induction L3' as [|a b k k' A C IH]; constructor; auto.
      nra.
Qed.

Lemma lipschitz_kth r fs : Forall lipschitz fs -> lipschitz (fun y => kthR r (map (fun f => f y) fs)).
Proof.
  intro H. destruct (lipschitz_all fs H) as (L & e & L1 & L2 & L3). exists L, e. repeat split; auto. intros x y Hx Hy.
  apply kth_moves; auto. pose proof (N_nonneg n (sub x y)). nra.
Qed.

Definition zero_function : pt -> R := fun _ => 0.

Lemma at_slot (fs : list (pt -> R)) k y : nth k (map (fun f => f y) fs) 0 = nth k fs zero_function y.
Proof. change 0 with ((fun f : pt -> R => f y) zero_function). apply map_nth. Qed.

Lemma slot_lipschitz fs k : Forall lipschitz fs -> lipschitz (nth k fs zero_function).
Proof.
  intro H. destruct (Nat.lt_ge_cases k (length fs)) as [K|K].
  - rewrite Forall_forall in H. apply H, nth_In, K.
  - rewrite nth_overflow by auto. apply lipschitz_const.
Qed.

Lemma step_lipschitz fs o : Forall lipschitz fs -> match o with Test _ _ _ | Sel _ _ _ => False | _ => True end ->
  lipschitz (fun y => stepR (map (fun f => f y) fs) o).
Proof.
  intros H Ho. destruct o as [c l|i j|i a b p|r l u beta|t i j|t k l]; try contradiction; simpl.
  - induction l as [|[q k] l IH]; simpl; [apply lipschitz_const|].
    apply (lipschitz_ext (fun y => Q2R q * nth k fs zero_function y + linR c l (map (fun f => f y) fs))).
    + intro y. rewrite at_slot. auto.
    + apply lipschitz_add; auto using slot_lipschitz.
  - apply (lipschitz_ext (fun y => nth i fs zero_function y * nth j fs zero_function y)).
    + intro y. rewrite !at_slot. auto.
    + apply lipschitz_mul; auto using slot_lipschitz.
  - apply (lipschitz_ext (fun y => kinkR a b (nth i fs zero_function y))).
    + intro y. rewrite at_slot. auto.
    + apply lipschitz_kink; auto using slot_lipschitz.
  - apply (lipschitz_ext (fun y => kthR r (map (fun f => f y) (map (fun k => nth k fs zero_function) l)))).
    + intro y. rewrite map_map. f_equal. apply map_ext. intro k. symmetry. apply at_slot.
    + apply lipschitz_kth, Forall_forall. intros f Hf. apply in_map_iff in Hf as [k [K _]]. subst f. apply slot_lipschitz, H.
Qed.

Lemma run_lipschitz P : forall fs, Forall lipschitz fs -> without_comparisons P = true ->
  exists gs, Forall lipschitz gs /\ forall y, runR (map (fun f => f y) fs) P = map (fun f => f y) gs.
Proof.
  induction P as [|[g o] P IH]; simpl; intros fs H W; [exists fs; auto|]. apply andb_true_iff in W as [W1 W2].
  set (f := fun y => stepR (map (fun f : pt -> R => f y) fs) o).
  destruct (IH (fs ++ [f])) as [gs [G1 G2]]; auto.
  - apply Forall_app. split; auto. constructor; auto. apply step_lipschitz; auto. destruct o; auto; discriminate.
  - exists gs. split; auto. intro y. rewrite <- G2, map_app. auto.
Qed.

(* Every output is Lipschitz near w. *)
Theorem value_lipschitz P outs j : without_comparisons P = true -> lipschitz (fun y => value n P outs y j).
Proof.
  intro W. destruct (run_lipschitz P (map (fun k (y : pt) => y k) (seq 0 n))) as [gs [G1 G2]]; auto.
  - apply Forall_forall. intros f Hf. apply in_map_iff in Hf as [k [K I]]. subst f. apply in_seq in I.
    apply lipschitz_coord. lia.
  - apply (lipschitz_ext (nth (nth j outs 0%nat) gs zero_function)); [|apply slot_lipschitz, G1].
    intro y. unfold value. specialize (G2 y). rewrite map_map in G2.
    change (map y (seq 0 n)) with (map (fun k => y k) (seq 0 n)). rewrite G2, at_slot. auto.
Qed.
End Lipschitz.
