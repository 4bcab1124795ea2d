(* A network behind the loss sum or mse is a program itself, of one output. So all that is proved about programs holds of it. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Program Value Sound Order Loss.
Import ListNotations.
Open Scope R_scope.

Definition plain (l : list instr) : program := map (fun o => (no_hint, o)) l.
(* Of each output its distance from the target, from the slot c on; and that one's square. *)
Fixpoint squares (y : list Q) (outs : list nat) c : list instr := match outs with [] => []
  | o :: outs' => Lin (qmul (-1) (hd 0%Q y)) [(1%Q, o)] :: Mul c c :: squares (tl y) outs' (S (S c)) end.
Definition total q ks := Lin 0 (map (fun k => (q, k)) ks).
Definition loss_code (l : loss) (outs : list nat) c : option (list instr) := match l with
  | Sum => Some [total 1 outs]
  | Mse y => let m := length outs in
      Some (squares y outs c ++ [total (1 # Pos.of_nat m) (map (fun j => (c + (2 * j + 1))%nat) (seq 0 m))])
  | Ce _ _ _ => None end.
(* The program, and the slot of the loss. *)
Definition with_loss n l (P : program) outs : option (program * nat) := match loss_code l outs (n + length P) with
  | Some code => Some (P ++ plain code, pred (n + length P + length code))
  | None => None end.

Lemma runR_both P : forall env P', runR env (P ++ P') = runR (runR env P) P'.
Proof. induction P as [|[g o] P IH]; simpl; auto. Qed.
Lemma runD_both P : forall G P', runD G (P ++ P') = runD (runD G P) P'.
Proof. induction P as [|[g o] P IH]; simpl; auto. Qed.
Lemma runR_length P : forall env, length (runR env P) = (length env + length P)%nat.
Proof. induction P as [|[g o] P IH]; simpl; intro env; [lia|]. rewrite IH, app_length. simpl. lia. Qed.
Lemma runD_length P : forall G, length (runD G P) = (length G + length P)%nat.
Proof. induction P as [|[g o] P IH]; simpl; intro G; [lia|]. rewrite IH, app_length. simpl. lia. Qed.
Lemma inputs_length n w : length (inputs n w) = n.
Proof. unfold inputs. rewrite map_length, seq_length. auto. Qed.

Definition row_at (G : list dual) k i := Q2R (nth i (snd (nth k G dual0)) 0%Q).
Definition val_at (G : list dual) k := Q2R (val G k).

(* {1 Sums} *)

Lemma total_value q ks env : stepR env (total q ks) = Q2R q * sum (length ks) (fun j => nth (nth j ks 0%nat) env 0).
Proof.
  unfold total. simpl. induction ks as [|k ks IH]; [simpl; rewrite Q2R_0; ring|].
  cbn [map linR length]. rewrite IH, sum_first. simpl. ring.
Qed.

Lemma total_row q ks G i : Q2R (nth i (snd (stepD G (total q ks))) 0%Q) = Q2R q * sum (length ks) (fun j => row_at G (nth j
  ks 0%nat) i).
Proof.
  unfold total, row_at. simpl. induction ks as [|k ks IH]; [simpl; destruct i; simpl; rewrite Q2R_0; ring|].
  cbn [map linD snd length]. rewrite gadd_at, gscale_at, IH, sum_first. simpl. ring.
Qed.

(* {1 Squares} *)

Lemma target_tl y j : target (tl y) j = target y (S j).
Proof. unfold target. destruct y as [|q y]; auto. destruct j; auto. Qed.
Lemma target_hd y : Q2R (hd 0%Q y) = target y 0.
Proof. unfold target. destruct y; auto. Qed.

Lemma squares_value outs : forall y env, (forall o, In o outs -> (o < length env)%nat) ->
  exists rest, runR env (plain (squares y outs (length env))) = env ++ rest /\ forall j, (j < length outs)%nat ->
    nth (2 * j + 1) rest 0 = (nth (nth j outs 0%nat) env 0 - target y j) * (nth (nth j outs 0%nat) env 0 - target y j).
Proof.
  induction outs as [|o outs IH]; intros y env H; [exists []; simpl; rewrite app_nil_r; split; auto; intros; lia|].
  cbn [squares plain map runR]. set (a := stepR env (Lin (qmul (-1) (hd 0%Q y)) [(1%Q, o)])).
  assert (A : a = nth o env 0 - target y 0).
  { unfold a. cbn [stepR linR]. rewrite Q2R_mul, Q2R_m1, Q2R_1, target_hd. ring. }
  set (b := stepR (env ++ [a]) (Mul (length env) (length env))).
  assert (B : b = a * a) by (unfold b; simpl; rewrite app_nth2, Nat.sub_diag by auto; auto).
  destruct (IH (tl y) ((env ++ [a]) ++ [b])) as [rest [R1 R2]].
  { intros k Hk. rewrite !app_length. specialize (H k (or_intror Hk)). lia. }
  replace (length ((env ++ [a]) ++ [b])) with (S (S (length env))) in R1 by (rewrite !app_length; simpl; lia).
  exists (a :: b :: rest). split; [unfold plain in R1; rewrite R1, <- !app_assoc; auto|]. intros [|j] Hj.
  - simpl. rewrite B, A. auto.
  - replace (2 * S j + 1)%nat with (S (S (2 * j + 1))) by lia. cbn [nth]. rewrite R2 by (simpl in Hj; lia).
    rewrite target_tl. assert (I : In (nth j outs 0%nat) outs) by (apply nth_In; simpl in Hj; lia).
    specialize (H _ (or_intror I)). rewrite <- app_assoc, app_nth1; auto.
Qed.

Lemma squares_row outs i : forall y G, (forall o, In o outs -> (o < length G)%nat) ->
  exists rest, runD G (plain (squares y outs (length G))) = G ++ rest /\ forall j, (j < length outs)%nat ->
    row_at rest (2 * j + 1) i = 2 * (val_at G (nth j outs 0%nat) - target y j) * row_at G (nth j outs 0%nat) i.
Proof.
  induction outs as [|o outs IH]; intros y G H; [exists []; simpl; rewrite app_nil_r; split; auto; intros; lia|].
  cbn [squares plain map runD]. set (a := stepD G (Lin (qmul (-1) (hd 0%Q y)) [(1%Q, o)])).
  assert (A : Q2R (fst a) = val_at G o - target y 0).
  { unfold a, val_at, val. simpl. rewrite Q2R_add, !Q2R_mul, Q2R_m1, Q2R_1, target_hd. ring. }
  assert (A' : Q2R (nth i (snd a) 0%Q) = row_at G o i).
  { unfold a, row_at. simpl. rewrite gadd_at, gscale_at, Q2R_1. destruct i; simpl; rewrite Q2R_0; ring. }
  set (b := stepD (G ++ [a]) (Mul (length G) (length G))).
  assert (B : Q2R (nth i (snd b) 0%Q) = 2 * Q2R (fst a) * Q2R (nth i (snd a) 0%Q)).
  { unfold b. simpl. rewrite app_nth2, Nat.sub_diag by auto. simpl. rewrite gadd_at, !gscale_at. ring. }
  destruct (IH (tl y) ((G ++ [a]) ++ [b])) as [rest [R1 R2]].
  { intros k Hk. rewrite !app_length. specialize (H k (or_intror Hk)). lia. }
  replace (length ((G ++ [a]) ++ [b])) with (S (S (length G))) in R1 by (rewrite !app_length; simpl; lia).
  exists (a :: b :: rest). split; [unfold plain in R1; rewrite R1, <- !app_assoc; auto|]. intros [|j] Hj.
  - change (row_at (a :: b :: rest) (2 * 0 + 1) i) with (Q2R (nth i (snd b) 0%Q)). rewrite B, A, A'. auto.
  - replace (2 * S j + 1)%nat with (S (S (2 * j + 1))) by lia.
    change (row_at (a :: b :: rest) (S (S (2 * j + 1))) i) with (row_at rest (2 * j + 1) i).
    cbn [nth]. rewrite R2 by (simpl in Hj; lia). rewrite target_tl.
    assert (I : In (nth j outs 0%nat) outs) by (apply nth_In; simpl in Hj; lia). specialize (H _ (or_intror I)).
    unfold row_at, val_at, val. rewrite <- app_assoc, app_nth1; auto.
Qed.

(* {1 The loss} *)

Lemma mean_of m : (0 < m)%nat -> Q2R (1 # Pos.of_nat m) = / INR m.
Proof.
  intro H. assert (E : INR m = IZR (Zpos (Pos.of_nat m))) by (rewrite <- (Nat2Pos.id m) at 1 by lia; apply INR_IPR).
  unfold Q2R. cbn [Qnum Qden]. rewrite E. ring.
Qed.

Lemma mean_times m S : Q2R (1 # Pos.of_nat m) * sum m S = / INR m * sum m S.
Proof. destruct m as [|m]; [simpl; ring|]. rewrite mean_of by lia. auto. Qed.

Lemma sum_of_delta m i : (i < m)%nat -> sum m (fun k => delta i k) = 1.
Proof.
  intro H. rewrite (sum_ext m _ (fun k => (if Nat.eqb k i then 1 else 0) * 1)).
  - rewrite sum_delta. destruct (Nat.ltb_spec i m); auto; lia.
  - intros k _. unfold delta. rewrite Nat.eqb_sym. destruct (Nat.eqb k i); ring.
Qed.

Section Loss.
Variables (n : nat) (l : loss) (P : program) (outs : list nat) (P' : program) (k : nat).
Hypothesis Hk : with_loss n l P outs = Some (P', k).
Hypothesis Ho : forall o, In o outs -> (o < n + length P)%nat.
Notation m := (length outs).

Theorem with_loss_value e log x : value n P' [k] x 0%nat = loss_at e log l m (value n P outs x).
Proof.
  unfold with_loss in Hk. destruct l as [|y|s c labels]; simpl in Hk; try discriminate; inversion Hk; subst; clear Hk;
    unfold value; simpl nth; set (env := map x (seq 0 n)); assert (L : length (runR env P) = (n + length P)%nat)
    by (unfold env; rewrite runR_length, map_length, seq_length; auto).
  - rewrite runR_both. cbn [plain map runR]. replace (pred (n + length P + 1)) with (length (runR env P)) by lia.
    rewrite app_nth2, Nat.sub_diag by auto. cbn [nth]. rewrite total_value, Q2R_1. simpl. ring.
  - rewrite runR_both. unfold plain. rewrite map_app, runR_both. fold (plain (squares y outs (n + length P))). rewrite <- L.
    destruct (squares_value outs y (runR env P)) as [rest [R1 R2]]; [rewrite L; auto|]. rewrite R1. cbn [map runR].
    pose proof (f_equal (@length R) R1) as Len. rewrite runR_length, app_length in Len. unfold plain in Len at 1.
    rewrite map_length in Len. rewrite app_length. cbn [length].
    replace (pred (length (runR env P) + (length (squares y outs (length (runR env P))) + 1))) with
      (length (runR env P ++ rest)) by (rewrite app_length; lia).
    rewrite app_nth2, Nat.sub_diag by auto. cbn [nth]. rewrite total_value, map_length, seq_length. cbn [loss_at].
    rewrite mean_times. f_equal. apply sum_ext. intros j Hj.
    rewrite (nth_indep _ 0%nat ((fun j => (length (runR env P) + (2 * j + 1))%nat) 0%nat)) by (rewrite map_length,
      seq_length; auto).
    rewrite (map_nth (fun j => (length (runR env P) + (2 * j + 1))%nat)), seq_nth by auto.
    rewrite app_nth2_plus. apply R2, Hj.
Qed.

Theorem with_loss_ad e w i : (i < n)%nat ->
  reals (ad n P' [k] w) 0%nat i = sum m (fun j => loss_slope e l m (value n P outs (real w)) j * reals (ad n P outs w) j i).
Proof.
  intro Hi. set (G := runD (inputs n w) P).
  assert (L : length G = (n + length P)%nat) by (unfold G; rewrite runD_length, inputs_length; auto).
  assert (Rows : forall j, (j < m)%nat -> reals (ad n P outs w) j i = row_at G (nth j outs 0%nat) i).
  { intros j Hj. unfold reals, real, ad, duals, row_at. rewrite map_map. fold G.
    rewrite (nth_indep _ [] ((fun k => snd (nth k G dual0)) 0%nat)) by (rewrite map_length; auto).
    rewrite (map_nth (fun k => snd (nth k G dual0))). auto. }
  assert (Vals : forall j, (j < m)%nat -> value n P outs (real w) j = val_at G (nth j outs 0%nat)).
  { intros j Hj. rewrite <- (ad_value n P outs w j Hj). unfold duals, val_at, val. fold G.
    rewrite (nth_indep _ dual0 ((fun k => nth k G dual0) 0%nat)) by (rewrite map_length; auto).
    rewrite (map_nth (fun k => nth k G dual0)). auto. }
  change (reals (ad n P' [k] w) 0%nat i) with (row_at (runD (inputs n w) P') k i).
  unfold with_loss in Hk. destruct l as [|y|s c labels]; simpl in Hk; try discriminate; inversion Hk; subst; clear Hk;
    rewrite runD_both; fold G.
  - cbn [plain map runD]. replace (pred (n + length P + 1)) with (length G) by lia.
    unfold row_at. rewrite app_nth2, Nat.sub_diag by auto. cbn [nth]. rewrite total_row, Q2R_1, Rmult_1_l. apply sum_ext.
      intros j Hj.
    rewrite Rows by auto. cbn [loss_slope]. rewrite sum_of_delta by auto. ring.
  - unfold plain. rewrite map_app, runD_both. fold (plain (squares y outs (n + length P))). rewrite <- L.
    destruct (squares_row outs i y G) as [rest [R1 R2]]; [rewrite L; auto|]. rewrite R1. cbn [map runD].
    pose proof (f_equal (@length dual) R1) as Len. rewrite runD_length, app_length in Len. unfold plain in Len at 1.
    rewrite map_length in Len. rewrite app_length. cbn [length].
    replace (pred (length G + (length (squares y outs (length G)) + 1))) with (length (G ++ rest)) by (rewrite app_length; lia).
    unfold row_at at 1. rewrite app_nth2, Nat.sub_diag by auto. cbn [nth].
      rewrite total_row, map_length, seq_length, mean_times.
    rewrite <- sum_scale. apply sum_ext. intros j Hj.
    rewrite (nth_indep _ 0%nat ((fun j => (length G + (2 * j + 1))%nat) 0%nat)) by (rewrite map_length, seq_length; auto).
    rewrite (map_nth (fun j => (length G + (2 * j + 1))%nat)), seq_nth by auto. unfold row_at at 1. rewrite app_nth2_plus.
    change (Q2R (nth i (snd (nth (2 * (0 + j) + 1) rest dual0)) 0%Q)) with (row_at rest (2 * (0 + j) + 1) i). simpl (0 + j)%nat.
    rewrite R2, Rows by auto. cbn [loss_slope].
    rewrite (sum_ext m _ (fun k => (if Nat.eqb k j then 1 else 0) * (2 * (value n P outs (real w) k - target y k)))).
    + rewrite sum_delta. destruct (Nat.ltb_spec j m); [|lia]. rewrite Vals by auto. ring.
    + intros k Hk. unfold delta. rewrite Nat.eqb_sym. destruct (Nat.eqb k j); ring.
Qed.
End Loss.
