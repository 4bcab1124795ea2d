(* Of programs of instructions alone AD over the rationals is AD over the reals. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Program Value Sound Loss Composite Gate.
Import ListNotations.
Open Scope R_scope.

Lemma plain_program_gates P : forall Q, plain_program P = Some Q -> plain_gates Q = P.
Proof.
  induction P as [|[o|c l m|f i] P IH]; simpl; intros Q H; try discriminate; [inversion H; auto|].
  destruct (plain_program P) as [Q'|]; try discriminate. inversion H; subst. simpl. rewrite (IH Q' eq_refl). auto.
Qed.

Section Rational.
Variables e log root : R -> R.

Lemma plain_run P : forall env, runG e log root env (plain_gates P) = runR env P.
Proof. induction P as [|[g o] P IH]; simpl; auto. Qed.

Lemma plain_value n P outs x j : gates_value e log root n (plain_gates P) outs x j = value n P outs x j.
Proof. unfold gates_value, value. rewrite plain_run. auto. Qed.

Definition agrees (a : dual) (b : dualR) := Q2R (fst a) = fst b /\ forall i, Q2R (nth i (snd a) 0%Q) = snd b i.
Definition agree_all := Forall2 agrees.

Lemma agrees_nth G G' k : agree_all G G' -> agrees (nth k G dual0) (nth k G' dualR0).
Proof.
  intro H. revert k. induction H; intros [|k]; simpl; auto; split; simpl; rewrite ?Q2R_0; auto;
    intro i; destruct i; apply Q2R_0.
Qed.

Lemma val_agrees G G' k : agree_all G G' -> Q2R (val G k) = valR G' k.
Proof. intro H. apply (agrees_nth G G' k H). Qed.
Lemma row_agrees G G' k i : agree_all G G' -> Q2R (nth i (snd (nth k G dual0)) 0%Q) = rowR G' k i.
Proof. intro H. apply (agrees_nth G G' k H). Qed.

Lemma valued_agree G G' : agree_all G G' -> valued G (map fst G').
Proof. intro H. induction H as [|a b G G' [E _] H IH]; constructor; auto. Qed.

Lemma rows_agree G G' c l i : agree_all G G' -> Q2R (nth i (snd (linD c l G)) 0%Q) = rows (weighed l) G' i.
Proof.
  intro H. unfold rows. induction l as [|[q k] l IH]; simpl; [destruct i; apply Q2R_0|].
  rewrite gadd_at, gscale_at, IH, (row_agrees G G' k i H). auto.
Qed.

Lemma eq_agrees x y : Qeq_bool x y = if Req_EM_T (Q2R x) (Q2R y) then true else false.
Proof.
  destruct (Req_EM_T (Q2R x) (Q2R y)) as [E|E].
  - apply Qeq_eq_bool, eqR_Qeq, E.
  - destruct (Qeq_bool x y) eqn:B; auto. apply Qeq_bool_R in B. contradiction.
Qed.
Lemma lt_agrees x y : match (x ?= y)%Q with Lt => true | _ => false end = if Rlt_dec (Q2R x) (Q2R y) then true else false.
Proof.
  destruct (Qcompare_spec x y) as [E|E|E]; destruct (Rlt_dec (Q2R x) (Q2R y)) as [L|L]; auto.
  - apply Qeq_eqR in E. lra.
  - apply Qlt_Rlt in E. lra.
  - apply Qlt_Rlt in E. lra.
Qed.

Lemma vals_agree G G' l : agree_all G G' -> map Q2R (map (val G) l) = map (valR G') l.
Proof. intro H. rewrite map_map. apply map_ext. intro k. apply (val_agrees G G' k H). Qed.

Lemma tie_agrees u beta r l G G' i : agree_all G G' ->
  rows (weighed (tie_form u beta r l G)) G' i = rows (tie_rows u beta r l G') G' i.
Proof.
  intro H. unfold tie_form, tie_rows. pose proof (kth_at r (map (val G) l)) as K. rewrite (vals_agree G G' l H) in K.
  assert (T : filter (fun k => Qeq_bool (val G k) (kthQ r (map (val G) l))) l =
    filter (fun k => if Req_EM_T (valR G' k) (kthR r (map (valR G') l)) then true else false) l).
  { apply filter_ext. intro k. rewrite eq_agrees, K, (val_agrees G G' k H). auto. }
  assert (B : filter (fun k => match (val G k ?= kthQ r (map (val G) l))%Q with Lt => true | _ => false end) l =
    filter (fun k => if Rlt_dec (valR G' k) (kthR r (map (valR G') l)) then true else false) l).
  { apply filter_ext. intro k. rewrite lt_agrees, K, (val_agrees G G' k H). auto. }
  rewrite T. set (tied := filter (fun k => if Req_EM_T _ _ then true else false) l).
  assert (P : picked u r l G tied = pickedR u r l G' tied) by (unfold picked, pickedR; rewrite B; auto).
  rewrite P. unfold rows, weighed. cbn [map fold_right fst snd]. f_equal.
  - rewrite Q2R_sub, Q2R_1. auto.
  - rewrite map_map. cbn [fst snd].
    assert (Sh : forall t : list nat, fold_right (fun t s => fst t * rowR G' (snd t) i + s) 0
        (map (fun k => (Q2R (qmul beta (1 # Pos.of_nat (length tied))), k)) t) =
      (Q2R (qmul beta (1 # Pos.of_nat (length tied)))) * fold_right (fun k s => rowR G' k i + s) 0 t).
    { induction t as [|k t IH]; simpl; [ring|]. rewrite IH. ring. }
    assert (Sh' : forall t : list nat, fold_right (fun t s => fst t * rowR G' (snd t) i + s) 0
        (map (fun k => (Q2R beta * / INR (length tied), k)) t) =
      (Q2R beta * / INR (length tied)) * fold_right (fun k s => rowR G' k i + s) 0 t).
    { induction t as [|k t IH]; simpl; [ring|]. rewrite IH. ring. }
    rewrite Sh, Sh'. destruct tied as [|k t] eqn:Et; [simpl; ring|]. rewrite Q2R_mul, mean_of by (simpl; lia). auto.
Qed.

Lemma step_agrees G G' o : agree_all G G' -> agrees (stepD G o) (stepG e log root G' (Plain o)).
Proof.
  intro H. split; [apply (step_at o G (map fst G') (valued_agree G G' H))|]. intro i.
  destruct o as [c l|j k|j a b p|r l u beta|t j k|t k l]; cbn [stepD stepG gate_row fst snd].
  - apply rows_agree, H.
  - rewrite gadd_at, !gscale_at. fold (val G j) (val G k). rewrite !(row_agrees G G' _ i H), !(val_agrees G G' _ H). auto.
  - rewrite gscale_at. fold (val G j). rewrite (row_agrees G G' j i H). f_equal. unfold slope, slopeR.
    rewrite <- (val_agrees G G' j H). pose proof (qsgn_spec (val G j)) as S. destruct (qsgn (val G j));
      destruct (Rlt_dec (Q2R (val G j)) 0); try lra; auto; destruct (Rlt_dec 0 (Q2R (val G j))); try lra; auto.
  - rewrite <- (tie_agrees u beta r l G G' i H). apply (rows_agree G G' 0 (tie_form u beta r l G) i H).
  - destruct i; simpl; apply Q2R_0.
  - pose proof (val_agrees G G' t H) as V. destruct (qz (val G t)) eqn:Z; destruct (Req_EM_T (valR G' t) 0) as [E|E];
      try (apply row_agrees, H).
    + apply qz_true in Z. lra.
    + apply qz_false in Z. lra.
Qed.

Lemma run_agrees P : forall G G', agree_all G G' -> agree_all (runD G P) (runA e log root G' (plain_gates P)).
Proof.
  induction P as [|[g o] P IH]; simpl; intros G G' H; auto. apply IH. apply Forall2_app; auto.
  constructor; [apply step_agrees, H|constructor].
Qed.

Lemma basis_all n : forall k i, (k < n)%nat -> Q2R (nth i (basis n k) 0%Q) = if Nat.eqb i k then 1 else 0.
Proof.
  induction n as [|n IH]; intros k i Hk; [lia|]. destruct k as [|k], i as [|i]; simpl; rewrite ?Q2R_1, ?Q2R_0; auto.
  - destruct i; simpl; apply Q2R_0.
  - apply IH. lia.
Qed.

Lemma inputs_agree n w : agree_all (inputs n w) (inputsR n (real w)).
Proof.
  unfold inputs, inputsR. assert (B : forall k, In k (seq 0 n) -> (k < n)%nat) by (intros k Hk; apply in_seq in Hk; lia).
  induction (seq 0 n) as [|k l IH]; constructor.
  - split; auto. intro i. apply basis_all, B. simpl. auto.
  - apply IH. intros; apply B; simpl; auto.
Qed.

Theorem plain_ad n P outs w j i : (j < length outs)%nat ->
  reals (ad n P outs w) j i = adR e log root n (plain_gates P) outs (real w) j i.
Proof.
  intro Hj. unfold reals, real, ad, duals, adR. rewrite map_map.
  rewrite (nth_indep _ [] ((fun k => snd (nth k (runD (inputs n w) P) dual0)) 0%nat)) by (rewrite map_length; auto).
  rewrite (map_nth (fun k => snd (nth k (runD (inputs n w) P) dual0))). apply row_agrees, run_agrees, inputs_agree.
Qed.
End Rational.
