(* The r-th largest of a list: how it is found by taking entries away from the top or the bottom. *)
From Coq Require Import Reals Lra Lia List Permutation Sorted.
From Clarke Require Import Program.
Import ListNotations.
Open Scope R_scope.

Definition above x (l : list R) := length (filter (fun z => if Rlt_dec x z then true else false) l).
Definition from x (l : list R) := length (filter (fun z => if Rlt_dec z x then false else true) l).
(* Less than r entries are above x, at least r are not below. *)
Definition is_kth r l x := (above x l < r <= from x l)%nat.

Lemma above_app x l k : above x (l ++ k) = (above x l + above x k)%nat.
Proof. unfold above. rewrite filter_app, app_length. auto. Qed.

Lemma from_app x l k : from x (l ++ k) = (from x l + from x k)%nat.
Proof. unfold from. rewrite filter_app, app_length. auto. Qed.

Lemma above_all x l : (above x l <= length l)%nat.
Proof. unfold above. induction l as [|a l IH]; simpl; auto. destruct (Rlt_dec x a); simpl; lia. Qed.

Lemma above_none x l : (forall z, In z l -> z <= x) -> above x l = 0%nat.
Proof.
  unfold above. induction l as [|a l IH]; simpl; intros H; auto. destruct (Rlt_dec x a).
  - specialize (H a (or_introl eq_refl)). lra.
  - apply IH; auto.
Qed.

Lemma from_every x l : (forall z, In z l -> x <= z) -> from x l = length l.
Proof.
  unfold from. induction l as [|a l IH]; simpl; intros H; auto. destruct (Rlt_dec a x).
  - specialize (H a (or_introl eq_refl)). lra.
  - simpl. f_equal. apply IH; auto.
Qed.

(* Some entry is not below x. *)
Lemma from_some x l : (1 <= from x l)%nat -> exists z, In z l /\ x <= z.
Proof.
  unfold from. induction l as [|a l IH]; simpl; intros H; [lia|]. destruct (Rlt_dec a x).
  - destruct (IH H) as [z [Z1 Z2]]. exists z; auto.
  - exists a. split; auto; lra.
Qed.

(* Some entry is not above x. *)
Lemma above_some x l : (above x l < length l)%nat -> exists z, In z l /\ z <= x.
Proof.
  unfold above. induction l as [|a l IH]; simpl; intros H; [lia|]. destruct (Rlt_dec x a).
  - simpl in H. destruct IH as [z [Z1 Z2]]; [lia|]. exists z; auto.
  - exists a. split; auto; lra.
Qed.

Lemma from_length x l : (from x l <= length l)%nat.
Proof. unfold from. induction l as [|a l IH]; simpl; auto. destruct (Rlt_dec a x); simpl; lia. Qed.

Lemma is_kth_perm r l k x : Permutation l k -> is_kth r l x -> is_kth r k x.
Proof.
  intros P. assert (E : above x l = above x k /\ from x l = from x k).
  { unfold above, from. induction P; simpl; try (split; lia); intuition; try congruence;
      repeat (destruct (Rlt_dec _ _); simpl in *); lia. }
  destruct E as [E1 E2]. unfold is_kth. rewrite E1, E2. auto.
Qed.

(* {1 The definition by sorting has the same entry} *)

Lemma insert_perm x l : Permutation (x :: l) (insertR x l).
Proof.
  induction l as [|y l IH]; simpl; auto. destruct (Rlt_dec x y); auto.
  eapply perm_trans; [apply perm_swap|]. apply perm_skip, IH.
Qed.

Lemma sort_perm l : Permutation l (sortR l).
Proof.
  induction l as [|x l IH]; simpl; auto. eapply perm_trans; [apply perm_skip, IH|]. apply insert_perm.
Qed.

Definition falling := StronglySorted (fun a b => b <= a).

Lemma insert_falling x l : falling l -> falling (insertR x l).
Proof.
  induction l as [|y l IH]; simpl; intros H; [repeat constructor|].
  inversion H as [|? ? A B]; subst. destruct (Rlt_dec x y).
  - constructor; [apply IH, A|]. rewrite Forall_forall in B |- *. intros z Hz.
    apply (Permutation_in z (Permutation_sym (insert_perm x l))) in Hz as [Hz|Hz]; [subst; lra|auto].
  - constructor; auto. constructor; [lra|]. rewrite Forall_forall in B |- *. intros z Hz. specialize (B z Hz). lra.
Qed.

Lemma sort_falling l : falling (sortR l).
Proof. induction l; simpl; [constructor|apply insert_falling; auto]. Qed.

Lemma falling_kth l x : falling l -> forall r, is_kth r l x -> nth (pred r) l 0 = x.
Proof.
  induction 1 as [|a l Hl IH Ha]; intros r [H1 H2]; [unfold from in H2; simpl in H2; lia|].
  rewrite Forall_forall in Ha.
  change (a :: l) with ([a] ++ l) in H1, H2. rewrite above_app in H1. rewrite from_app in H2.
  destruct r as [|[|r]]; [lia| |].
  - simpl. assert (a <= x). { apply Rnot_lt_le. intro K. unfold above in H1. simpl in H1. destruct (Rlt_dec x a);
    simpl in H1; [lia|lra]. }
    assert (x <= a); [|lra]. apply Rnot_lt_le. intro K.
    assert (E : from x [a] = 0%nat) by (unfold from; simpl; destruct (Rlt_dec a x); [auto|lra]).
    destruct (from_some x l) as [z [Z1 Z2]]; [lia|]. specialize (Ha z Z1). lra.
  - apply (IH (S r)). pose proof (from_length x [a]) as L. simpl length in L. split; [|lia].
    destruct (Rlt_dec x a) as [K|K].
    + assert (E : above x [a] = 1%nat) by (unfold above; simpl; destruct (Rlt_dec x a); [auto|lra]). lia.
    + rewrite above_none; [lia|]. intros z Hz. specialize (Ha z Hz). lra.
Qed.

Theorem is_kth_kthR r l x : is_kth r l x -> kthR r l = x.
Proof. intro H. apply falling_kth; [apply sort_falling|]. apply (is_kth_perm _ _ _ _ (sort_perm l) H). Qed.

(* {1 Taking away} *)

(* What is on top of all others is taken away, and counted. *)
Lemma kth_top A l r x : (forall a z, In a A -> In z l -> z <= a) -> is_kth r l x -> is_kth (length A + r) (A ++ l) x.
Proof.
  intros H [H1 H2]. destruct (from_some x l) as [z [Z1 Z2]]; [lia|]. unfold is_kth.
  rewrite above_app, from_app, (from_every x A).
  - pose proof (above_all x A). lia.
  - intros a Ha. specialize (H a z Ha Z1). lra.
Qed.

(* What is below all others does not count. *)
Lemma kth_bottom B l r x : (forall b z, In b B -> In z l -> b <= z) -> is_kth r l x -> is_kth r (B ++ l) x.
Proof.
  intros H [H1 H2]. pose proof (from_length x l). destruct (above_some x l) as [z [Z1 Z2]]; [lia|]. unfold is_kth.
  rewrite above_app, from_app, (above_none x B); [lia|].
  intros b Hb. specialize (H b z Hb Z1). lra.
Qed.

(* Copies on top of all others that are r at least. *)
Lemma kth_first k l r x : (1 <= r <= k)%nat -> (forall z, In z l -> z <= x) -> is_kth r (repeat x k ++ l) x.
Proof.
  intros Hr H. unfold is_kth. rewrite above_app, from_app, (above_none x l H), above_none, from_every, repeat_length;
    [lia| |];
    intros z Hz; apply repeat_spec in Hz; subst; lra.
Qed.

(* Copies below all others, of which there are less than r. *)
Lemma kth_last k l r x : (length l < r <= length l + k)%nat -> (forall z, In z l -> x <= z) -> is_kth r (repeat x k ++ l) x.
Proof.
  intros Hr H. unfold is_kth. rewrite above_app, from_app, (from_every x l H), (from_every x (repeat x k)), repeat_length.
  - rewrite above_none; [pose proof (above_all x l); lia|]. intros z Hz; apply repeat_spec in Hz; subst; lra.
  - intros z Hz; apply repeat_spec in Hz; subst; lra.
Qed.
