(* The checks follow a program in demand order. Here it is compared with the program as its text has it: what a slot of the
   one means, the slot of the other that it is labelled with means as well. So neither the order nor the guards are
   trusted. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Numbers Program.
Import ListNotations.
Open Scope R_scope.

Definition args (o : instr) : list nat := match o with
  | Lin _ l => map snd l | Mul i j | Test _ i j => [i; j] | Kink i _ _ _ => [i] | Kth _ l _ _ => l | Sel t k l => [t; k; l]
    end.
Definition rename (f : nat -> nat) (o : instr) : instr := match o with
  | Lin c l => Lin c (map (fun x => (fst x, f (snd x))) l)
  | Mul i j => Mul (f i) (f j)
  | Kink i a b p => Kink (f i) a b p
  | Kth r l u beta => Kth r (map f l) u beta
  | Test t i j => Test t (f i) (f j)
  | Sel t k l => Sel (f t) (f k) (f l) end.

Definition relation_eqb (a b : relation) := match a, b with
  | RLt, RLt | RLe, RLe | RGt, RGt | RGe, RGe | REq, REq | RNe, RNe => true | _, _ => false end.
Fixpoint same_terms (a b : list (Q * nat)) := match a, b with [], [] => true
  | (p, i) :: a', (q, j) :: b' => Qeq_bool p q && Nat.eqb i j && same_terms a' b' | _, _ => false end.
Fixpoint same_slots (a b : list nat) := match a, b with [], [] => true
  | i :: a', j :: b' => Nat.eqb i j && same_slots a' b' | _, _ => false end.
(* Equal, but for AD's share, which the meaning does not have. *)
Definition same_instr (o o' : instr) : bool := match o, o' with
  | Lin c l, Lin c' l' => Qeq_bool c c' && same_terms l l'
  | Mul i j, Mul i' j' => Nat.eqb i i' && Nat.eqb j j'
  | Kink i a b _, Kink i' a' b' _ => Nat.eqb i i' && Qeq_bool a a' && Qeq_bool b b'
  | Kth r l _ _, Kth r' l' _ _ => Nat.eqb r r' && same_slots l l'
  | Test t i j, Test t' i' j' => relation_eqb t t' && Nat.eqb i i' && Nat.eqb j j'
  | Sel t k l, Sel t' k' l' => Nat.eqb t t' && Nat.eqb k k' && Nat.eqb l l'
  | _, _ => false end.

(* Arguments before their instructions; the first has the slot k. *)
Fixpoint forward k (S : program) := match S with [] => true
  | (_, o) :: S' => forallb (fun a => Nat.ltb a k) (args o) && forward (k + 1)%nat S' end.
(* The slots so far are labelled with those of the text. *)
Definition nop : hint * instr := (no_hint, Lin 0 []).
Fixpoint relabels n (S : program) (labels : list nat) (P : program) (new : list nat) : bool := match P, new with
  | [], [] => true
  | (_, o) :: P', v :: new' => forallb (fun a => Nat.ltb a (length labels)) (args o) &&
      Nat.leb n v && Nat.ltb v (n + length S)%nat &&
      same_instr (rename (fun a => nth a labels 0%nat) o) (snd (nth (v - n)%nat S nop)) &&
      relabels n S (labels ++ [v]) P' new'
  | _, _ => false end.
(* P, labelled with new, computes what S does: outs what souts are. *)
Definition reorders n (S : program) (souts : list nat) (P : program) (new outs : list nat) : bool :=
  forward n S && relabels n S (seq 0 n) P new &&
  forallb (fun k => Nat.ltb k (n + length P)%nat) outs && same_slots (map (fun k => nth k (seq 0 n ++ new) 0%nat) outs) souts.

Lemma same_slots_eq a : forall b, same_slots a b = true -> a = b.
Proof.
  induction a as [|i a IH]; intros [|j b] H; simpl in H; try discriminate; auto. apply andb_true_iff in H as [H1 H2].
  apply Nat.eqb_eq in H1. subst. f_equal; auto.
Qed.

Lemma same_instr_step o o' env : same_instr o o' = true -> stepR env o = stepR env o'.
Proof.
  destruct o, o'; simpl; try discriminate; rewrite ?andb_true_iff; intros H.
  - destruct H as [H1 H2]. apply Qeq_bool_R in H1. revert l0 H2. induction l as [|[p i] l IH]; intros [|[q j] l'] H2;
    simpl in *;
      try discriminate; auto. apply andb_true_iff in H2 as [H2 H3]. apply andb_true_iff in H2 as [H2 H4].
    apply Qeq_bool_R in H2. apply Nat.eqb_eq in H4. subst. rewrite H2, (IH l' H3). auto.
  - destruct H as [H1 H2]. apply Nat.eqb_eq in H1, H2. subst; auto.
  - destruct H as [[H1 H2] H3]. apply Nat.eqb_eq in H1. apply Qeq_bool_R in H2, H3. subst. unfold kinkR. rewrite H2, H3. auto.
  - destruct H as [H1 H2]. apply Nat.eqb_eq in H1. apply same_slots_eq in H2. subst; auto.
  - destruct H as [[H1 H2] H3]. apply Nat.eqb_eq in H2, H3. subst. destruct t, t0; simpl in H1; try discriminate; auto.
  - destruct H as [[H1 H2] H3]. apply Nat.eqb_eq in H1, H2, H3. subst; auto.
Qed.

(* An instruction sees its arguments alone. *)
Lemma step_rename f o e e' : (forall a, In a (args o) -> nth a e 0 = nth (f a) e' 0) -> stepR e o = stepR e' (rename f o).
Proof.
  destruct o; simpl; intros H.
  - induction l as [|[q k] l IH]; simpl; auto. rewrite (H k), IH; simpl; auto. intros a Ha. apply H. simpl; auto.
  - rewrite (H i), (H j); auto.
  - rewrite (H i); auto.
  - f_equal. rewrite map_map. apply map_ext_in. intros a Ha. auto.
  - rewrite (H i), (H j); auto.
  - rewrite (H t), (H k), (H l); auto.
Qed.

Lemma rename_id o : rename (fun a => a) o = o.
Proof.
  destruct o; simpl; auto; f_equal.
  - induction l as [|[q k] l IH]; simpl; [auto|f_equal; auto].
  - apply map_id.
Qed.

Lemma run_prefix P : forall env, exists rest, runR env P = env ++ rest /\ length rest = length P.
Proof.
  induction P as [|[g o] P IH]; intros env; simpl.
  - exists []. rewrite app_nil_r. auto.
  - destruct (IH (env ++ [stepR env o])) as [rest [H1 H2]]. exists (stepR env o :: rest). rewrite H1, <- app_assoc.
    simpl. auto.
Qed.

(* In the end each slot is what its instruction makes of the end's slots. *)
Lemma run_fixed S : forall env j, forward (length env) S = true -> (j < length S)%nat ->
  nth (length env + j) (runR env S) 0 = stepR (runR env S) (snd (nth j S nop)).
Proof.
  induction S as [|[g o] S IH]; intros env j H Hj; simpl in *; [lia|]. apply andb_true_iff in H as [H1 H2].
  destruct j as [|j].
  - destruct (run_prefix S (env ++ [stepR env o])) as [rest [R _]]. simpl snd. rewrite R at 1.
    rewrite app_nth1 by (rewrite app_length; simpl; lia). rewrite app_nth2 by lia.
    replace (length env + 0 - length env)%nat with 0%nat by lia. simpl.
    transitivity (stepR (runR (env ++ [stepR env o]) S) (rename (fun a => a) o)); [|rewrite rename_id; auto].
    apply step_rename. intros a Ha. rewrite forallb_forall in H1. specialize (H1 a Ha).
    apply Nat.ltb_lt in H1. rewrite R. rewrite !app_nth1; auto; rewrite ?app_length; simpl; lia.
  - replace (length env + Datatypes.S j)%nat with (length (env ++ [stepR env o]) + j)%nat by (rewrite app_length; simpl; lia).
    apply IH; [|lia]. rewrite app_length. simpl. auto.
Qed.

Lemma relabels_run n S E : (forall j, (j < length S)%nat -> nth (n + j) E 0 = stepR E (snd (nth j S nop))) ->
  forall P labels new env, relabels n S labels P new = true -> env = map (fun v => nth v E 0) labels ->
  runR env P = map (fun v => nth v E 0) (labels ++ new).
Proof.
  intros HE. induction P as [|[g o] P IH]; intros labels [|v new] env R He; simpl in R; try discriminate.
  - simpl. rewrite app_nil_r. auto.
  - rewrite !andb_true_iff in R. destruct R as [[[[R1 R2] R3] R4] R5]. apply Nat.leb_le in R2. apply Nat.ltb_lt in R3.
    simpl. rewrite (IH (labels ++ [v]) new); auto; [rewrite <- app_assoc; auto|].
    rewrite map_app. subst env. f_equal. simpl. f_equal.
    replace v with (n + (v - n))%nat at 1 by lia. rewrite HE by lia. rewrite <- (same_instr_step _ _ E R4).
    apply step_rename. intros a Ha. rewrite forallb_forall in R1. specialize (R1 a Ha). apply Nat.ltb_lt in R1.
    rewrite (nth_indep _ 0 ((fun v => nth v E 0) 0%nat)) by (rewrite map_length; auto).
    rewrite (map_nth (fun v => nth v E 0)). auto.
Qed.

Lemma relabels_length n S P : forall labels new, relabels n S labels P new = true -> length new = length P.
Proof.
  induction P as [|[g o] P IH]; intros labels [|v new] R; simpl in R; try discriminate; auto. rewrite !andb_true_iff in R.
  simpl. f_equal. apply (IH (labels ++ [v])), R.
Qed.

Theorem reorders_value n S souts P new outs x : reorders n S souts P new outs = true ->
  forall j, (j < length outs)%nat -> value n P outs x j = value n S souts x j.
Proof.
  unfold reorders. rewrite !andb_true_iff. intros [[[F R] B] H] j Hj. apply same_slots_eq in H.
  set (env := map x (seq 0 n)). assert (Le : length env = n) by (unfold env; rewrite map_length, seq_length; auto).
  set (E := runR env S).
  assert (HE : forall j, (j < length S)%nat -> nth (n + j) E 0 = stepR E (snd (nth j S nop))).
  { intros k Hk. rewrite <- Le at 1. unfold E. apply run_fixed; auto. rewrite Le; auto. }
  assert (He : env = map (fun v => nth v E 0) (seq 0 n)).
  { destruct (run_prefix S env) as [rest [R1 _]]. unfold E. rewrite R1. unfold env at 1. apply map_ext_in. intros k Hk.
    apply in_seq in Hk. rewrite app_nth1 by lia. unfold env. rewrite (nth_indep _ 0 (x 0%nat)) by (rewrite map_length,
      seq_length; lia).
    rewrite map_nth, seq_nth by lia. auto. }
  pose proof (relabels_run n S E HE P (seq 0 n) new env R He) as Run.
  pose proof (relabels_length _ _ _ _ _ R) as Len.
  unfold value. fold env. fold E. rewrite Run, <- H.
  rewrite forallb_forall in B. specialize (B (nth j outs 0%nat) (nth_In _ _ Hj)). apply Nat.ltb_lt in B.
  assert (Lo : (nth j outs 0 < length (seq 0 n ++ new))%nat) by (rewrite app_length, seq_length; lia).
  rewrite (nth_indep _ 0 ((fun v => nth v E 0) 0%nat)) by (rewrite map_length; auto).
  rewrite (map_nth (fun v => nth v E 0)).
  rewrite (nth_indep (map _ outs) 0%nat ((fun k => nth k (seq 0 n ++ new) 0%nat) 0%nat)) by (rewrite map_length; auto).
  rewrite (map_nth (fun k => nth k (seq 0 n ++ new) 0%nat)). auto.
Qed.
