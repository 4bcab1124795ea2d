(* AD computes F along with its derivatives: the values of `ad` are those of `value` at w. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Numbers Program.
Import ListNotations.
Open Scope R_scope.

Definition valued (G : list dual) (env : list R) := Forall2 (fun d v => Q2R (fst d) = v) G env.

Lemma valued_at G env k : valued G env -> Q2R (val G k) = nth k env 0.
Proof. unfold val. intro H. revert k. induction H; intros [|k]; simpl; auto using Q2R_0. Qed.

Lemma compare_at x y : (x ?= y)%Q = compareR (Q2R x) (Q2R y).
Proof.
  unfold compareR. destruct (Qcompare_spec x y) as [E|L|L].
  - apply Qeq_eqR in E. destruct (Rlt_dec _ _); [lra|]. destruct (Rlt_dec _ _); [lra|auto].
  - apply Qlt_Rlt in L. destruct (Rlt_dec _ _); [auto|lra].
  - apply Qlt_Rlt in L. destruct (Rlt_dec _ _); [lra|]. destruct (Rlt_dec _ _); [auto|lra].
Qed.

(* Sorting rationals sorts the reals that they are. *)
Lemma insert_at x l : map Q2R (insertQ x l) = insertR (Q2R x) (map Q2R l).
Proof.
  induction l as [|y l IH]; simpl; auto. rewrite compare_at. unfold compareR.
  destruct (Rlt_dec (Q2R x) (Q2R y)); simpl; [rewrite IH; auto|]. destruct (Rlt_dec (Q2R y) (Q2R x)); auto.
Qed.

Lemma sort_at l : map Q2R (sortQ l) = sortR (map Q2R l).
Proof. induction l as [|x l IH]; simpl; auto. rewrite insert_at, IH. auto. Qed.

Lemma kth_at r l : Q2R (kthQ r l) = kthR r (map Q2R l).
Proof. unfold kthQ, kthR. rewrite <- sort_at, <- Q2R_0, map_nth. auto. Qed.

Lemma linD_at c l G env : valued G env -> Q2R (fst (linD c l G)) = linR c l env.
Proof.
  intro H. induction l as [|[q k] l IH]; simpl; auto. rewrite Q2R_add, Q2R_mul, IH, <- (valued_at G env k H). auto.
Qed.

Lemma slope_at a b z : Q2R (qmul (slope a b b z) z) = kinkR a b (Q2R z).
Proof.
  unfold slope, kinkR. rewrite Q2R_mul. pose proof (qsgn_spec z). destruct (qsgn z); destruct (Rlt_dec _ _); lra.
Qed.

Lemma step_at o G env : valued G env -> Q2R (fst (stepD G o)) = stepR env o.
Proof.
  intro H. destruct o; simpl.
  - apply linD_at, H.
  - rewrite Q2R_mul. rewrite <- !(valued_at G env _ H). auto.
  - rewrite slope_at, <- (valued_at G env i H). auto.
  - rewrite kth_at, map_map. f_equal. apply map_ext. intro k. apply (valued_at G env k H).
  - rewrite compare_at, !(valued_at G env _ H). destruct (holds _ _); [apply Q2R_1|apply Q2R_0].
  - pose proof (valued_at G env t H) as T. destruct (qz (val G t)) eqn:Z; destruct (Req_EM_T (nth t env 0) 0) as [E|E].
    + apply (valued_at G env l H).
    + apply qz_true in Z. lra.
    + apply qz_false in Z. lra.
    + apply (valued_at G env k H).
Qed.

Lemma run_at P : forall G env, valued G env -> valued (runD G P) (runR env P).
Proof.
  induction P as [|[g o] P IH]; simpl; intros G env H; auto. apply IH. apply Forall2_app; [exact H|].
  constructor; [apply step_at, H|constructor].
Qed.

Theorem ad_value n P outs w j : (j < length outs)%nat ->
  Q2R (fst (nth j (duals n P outs w) dual0)) = value n P outs (real w) j.
Proof.
  intro Hj. unfold duals, value.
  rewrite (nth_indep _ dual0 ((fun k => nth k (runD (inputs n w) P) dual0) 0%nat)) by (rewrite map_length; auto).
  rewrite (map_nth (fun k => nth k (runD (inputs n w) P) dual0)). apply valued_at, run_at.
  unfold inputs. induction (seq 0 n) as [|k l IH]; simpl; constructor; auto.
Qed.
