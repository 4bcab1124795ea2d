(* Rationals in lowest terms, and the reals that they are. *)
From Coq Require Import QArith Qreals Reals Lra List.
Import ListNotations.
Open Scope R_scope.

Definition qadd x y := Qred (x + y).
Definition qmul x y := Qred (x * y).
Definition qsub x y := qadd x (qmul (-1) y).
Definition qsgn x := (x ?= 0)%Q.
Definition qz x := match qsgn x with Eq => true | _ => false end.
Definition qpos x := match qsgn x with Gt => true | _ => false end.

Lemma Q2R_0 : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_m1 : Q2R (-1) = -1. Proof. unfold Q2R; simpl; lra. Qed.

Lemma Q2R_add x y : Q2R (qadd x y) = Q2R x + Q2R y.
Proof. unfold qadd. rewrite (Qeq_eqR _ _ (Qred_correct _)). apply Q2R_plus. Qed.

Lemma Q2R_mul x y : Q2R (qmul x y) = Q2R x * Q2R y.
Proof. unfold qmul. rewrite (Qeq_eqR _ _ (Qred_correct _)). apply Q2R_mult. Qed.

Lemma Q2R_sub x y : Q2R (qsub x y) = Q2R x - Q2R y.
Proof. unfold qsub. rewrite Q2R_add, Q2R_mul, Q2R_m1. lra. Qed.

Lemma qsgn_spec x : match qsgn x with Lt => Q2R x < 0 | Eq => Q2R x = 0 | Gt => 0 < Q2R x end.
Proof.
  unfold qsgn. rewrite <- Q2R_0.
  destruct (Qcompare_spec x 0); [apply Qeq_eqR|apply Qlt_Rlt|apply Qlt_Rlt]; auto.
Qed.

Lemma qz_true x : qz x = true -> Q2R x = 0.
Proof. unfold qz. pose proof (qsgn_spec x). destruct (qsgn x); auto; discriminate. Qed.

Lemma qz_false x : qz x = false -> Q2R x <> 0.
Proof. unfold qz. pose proof (qsgn_spec x). destruct (qsgn x); try discriminate; lra. Qed.

Lemma qpos_true x : qpos x = true -> 0 < Q2R x.
Proof. unfold qpos. pose proof (qsgn_spec x). destruct (qsgn x); auto; discriminate. Qed.

Lemma Qeq_bool_R x y : Qeq_bool x y = true -> Q2R x = Q2R y.
Proof. intro H. apply Qeq_eqR, Qeq_bool_eq, H. Qed.

Lemma Qle_bool_R x y : Qle_bool x y = true -> Q2R x <= Q2R y.
Proof. intro H. apply Qle_Rle, Qle_bool_iff, H. Qed.
