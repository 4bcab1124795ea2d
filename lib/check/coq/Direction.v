(* One direction, for large programs: values and tangents, no polynomials. Where each argument that is at a kink, and not
   constant, moves to the side whose slope AD takes, and each largest entry that AD picks wins, F is one smooth function beside
   the direction, and AD's output is its Jacobian at w. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Store Program Value Rank Poly Choice Arc Order.
Import ListNotations.
Open Scope R_scope.

(* {1 The check} *)

(* Of a slot: its value at w, its derivative along d, whether it is constant; an earlier slot that is the same function, and
   what makes it of such slots. *)
Record info := { at_w : Q; along_d : Q; still : bool; same_as : nat; made : instr }.

Definition store := tree info.
Definition moves := (Q * Q * bool)%type.
Fixpoint lin_moves c (l : list (Q * nat)) (T : store) : option moves := match l with [] => Some (c, 0%Q, true)
  | (q, k) :: l' => match find k T, lin_moves c l' T with
    | Some x, Some (v, t, s) => Some (qadd (qmul q (at_w x)) v, qadd (qmul q (along_d x)) t, (still x || qz q) && s)
    | _, _ => None end end.
Definition mul_moves x y : moves :=
  (qmul (at_w x) (at_w y), qadd (qmul (at_w y) (along_d x)) (qmul (at_w x) (along_d y)),
   (still x && still y) || (still x && qz (at_w x)) || (still y && qz (at_w y))).
(* Is the side that x moves to one with the slope p? *)
Definition settled a b p x : bool := match qsgn (at_w x) with
  | Eq => still x || match qsgn (along_d x) with Lt => Qeq_bool a p | Gt => Qeq_bool b p | Eq => false end
  | _ => true end.
Definition kink_moves a b p x : option moves := let c := slope a b p (at_w x) in
  if settled a b p x then Some (qmul (slope a b b (at_w x)) (at_w x), qmul c (along_d x), still x || qz c) else None.
Fixpoint finds (l : list nat) (T : store) : option (list info) := match l with [] => Some []
  | k :: l' => match find k T, finds l' T with Some x, Some xs => Some (x :: xs) | _, _ => None end end.
(* Is y nowhere larger than x along the direction? *)
Definition loses x y : bool := match (at_w y ?= at_w x)%Q with Lt => true | Gt => false
  | Eq => Nat.eqb (same_as y) (same_as x) || (still y && still x)
          || match (along_d y ?= along_d x)%Q with Lt => true | _ => false end end.
Definition largest_moves u beta (xs : list info) : option moves :=
  let v := kthQ 1 (map at_w xs) in let tied := filter (fun x => Qeq_bool (at_w x) v) xs in
  match (match u with First => hd_error tied | Last => hd_error (rev tied) | Stable => None end) with
  | Some x => if Qeq_bool beta 0 && forallb (loses x) xs then Some (v, along_d x, still x) else None
  | None => None end.
Definition moves_of o T : option moves := match o with
  | Lin c l => lin_moves c l T
  | Mul i j => match find i T, find j T with Some x, Some y => Some (mul_moves x y) | _, _ => None end
  | Kink i a b p => match find i T with Some x => kink_moves a b p x | None => None end
  | Kth r l u beta => if Nat.eqb r 1 then match finds l T with Some xs => largest_moves u beta xs | None => None end else None
  | _ => None end.

(* The hint j: the instruction is that of the slot j, of arguments that are the same. *)
Definition canonical o (T : store) := rename (fun a => match find a T with Some x => same_as x | None => a end) o.
Definition info_of o j c T : option info := match moves_of o T with
  | Some (v, t, s) => let o' := canonical o T in
      let k := match find j T with Some x => if same_instr o' (made x) then same_as x else c | None => c end in
      Some {| at_w := v; along_d := t; still := s; same_as := k; made := o' |}
  | None => None end.
Fixpoint follow_direction (P : program) (hints : list nat) c T : option store := match P with [] => Some T
  | (_, o) :: P' => match info_of o (hd c hints) c T with
    | Some x => follow_direction P' (tl hints) (S c) (put c x T) | None => None end end.
Fixpoint load (l : list (Q * Q)) c T : store := match l with [] => T
  | (v, t) :: l' => load l' (S c)
      (put c {| at_w := v; along_d := t; still := false; same_as := c; made := Lin 0 [(1%Q, c)] |} T) end.
Definition entries_of n (w d : list Q) := map (fun k => (nth k w 0%Q, nth k d 0%Q)) (seq 0 n).
Definition check_direction n P outs w d hints : bool :=
  match follow_direction P hints n (load (entries_of n w d) 0 Empty) with
  | Some T => forallb (fun k => match find k T with Some _ => true | None => false end) outs
  | None => false end.

(* {1 Rows of gradients} *)

Lemma gadd_at a : forall b i, Q2R (nth i (gadd a b) 0%Q) = Q2R (nth i a 0%Q) + Q2R (nth i b 0%Q).
Proof.
  induction a as [|p a IH]; intros [|q b] [|i]; simpl; rewrite ?Q2R_0; try lra; [apply Q2R_add|apply IH].
Qed.

Lemma gscale_at k a i : Q2R (nth i (gscale k a) 0%Q) = Q2R k * Q2R (nth i a 0%Q).
Proof.
  unfold gscale. revert i. induction a as [|p a IH]; intros [|i]; simpl; rewrite ?Q2R_0; try lra; [apply Q2R_mul|apply IH].
Qed.

Lemma basis_at n : forall k i, (i < n)%nat -> Q2R (nth i (basis n k) 0%Q) = if Nat.eqb i k then 1 else 0.
Proof.
  induction n as [|n IH]; intros [|k] [|i] Hi; simpl; try lia; rewrite ?Q2R_1, ?Q2R_0; auto.
  - destruct i; apply Q2R_0.
  - apply IH. lia.
Qed.

(* {1 What is known of a slot} *)

Section Direction.
Variables (n : nat) (w d : list Q).
Notation A := (arc n [d]).
Notation beside := (beside n (real w) A).
Notation W := (real w).

(* A smooth function; where it tends from w along d. *)
Record smooth (f : pt -> R) (f' : pt -> pt) (v t : Q) (s : bool) (g : list Q) : Prop := {
  smooth_C1 : C1 n f f';
  smooth_at : f W = Q2R v;
  smooth_grad : forall i, (i < n)%nat -> f' W i = Q2R (nth i g 0%Q);
  smooth_along : dot n (f' W) (real d) = Q2R t;
  smooth_still : s = true -> forall y, f y = Q2R v }.

Definition is_beside (f : pt -> R) (h : pt -> R) := beside (fun y => h y = f y).

Lemma beside_and2 P Q : beside P -> beside Q -> beside (fun y => P y /\ Q y). Proof. apply beside_and. Qed.

Lemma smooth_const v : smooth (fun _ => Q2R v) (fun _ _ => 0) v 0 true [].
Proof.
  split; auto; [apply C1_const| |rewrite dot_zero_l, Q2R_0; auto]. intros i _. destruct i; simpl; rewrite Q2R_0; auto.
Qed.

Lemma smooth_add q f f' v t s g h h' v' t' s' g' : smooth f f' v t s g -> smooth h h' v' t' s' g' ->
  smooth (fun y => Q2R q * f y + h y) (fun y i => Q2R q * f' y i + h' y i)
    (qadd (qmul q v) v') (qadd (qmul q t) t') ((s || qz q) && s') (gadd (gscale q g) g').
Proof.
  intros [A1 A2 A3 A4 A5] [B1 B2 B3 B4 B5]. split.
  - apply C1_add; auto. apply (C1_scale n (Q2R q)); auto.
  - rewrite A2, B2, Q2R_add, Q2R_mul. auto.
  - intros i Hi. rewrite A3, B3, gadd_at, gscale_at by auto. auto.
  - rewrite (dot_add_l n (fun i => Q2R q * f' W i)), dot_scale_l, A4, B4, Q2R_add, Q2R_mul. auto.
  - rewrite andb_true_iff, orb_true_iff. intros [S S'] y. rewrite (B5 S'), Q2R_add, Q2R_mul. destruct S as [S|S].
    + rewrite (A5 S). auto.
    + rewrite (qz_true _ S). ring.
Qed.

Lemma smooth_scale q f f' v t s g : smooth f f' v t s g ->
  smooth (fun y => Q2R q * f y) (fun y i => Q2R q * f' y i) (qmul q v) (qmul q t) (s || qz q) (gscale q g).
Proof.
  intros [A1 A2 A3 A4 A5]. split.
  - apply (C1_scale n (Q2R q)); auto.
  - rewrite A2, Q2R_mul. auto.
  - intros i Hi. rewrite A3, gscale_at by auto. auto.
  - rewrite dot_scale_l, A4, Q2R_mul. auto.
  - rewrite orb_true_iff. intros [S|S] y; rewrite Q2R_mul; [rewrite (A5 S); auto|rewrite (qz_true _ S); ring].
Qed.

Lemma smooth_mul f f' v t s g h h' v' t' s' g' : smooth f f' v t s g -> smooth h h' v' t' s' g' ->
  smooth (fun y => f y * h y) (fun y i => h y * f' y i + f y * h' y i)
    (qmul v v') (qadd (qmul v' t) (qmul v t')) ((s && s') || (s && qz v) || (s' && qz v'))
    (gadd (gscale v' g) (gscale v g')).
Proof.
  intros [A1 A2 A3 A4 A5] [B1 B2 B3 B4 B5]. split.
  - apply C1_mul; auto.
  - rewrite A2, B2, Q2R_mul. auto.
  - intros i Hi. rewrite A2, B2, A3, B3, gadd_at, !gscale_at by auto. auto.
  - rewrite (dot_add_l n (fun i => h W * f' W i) (fun i => f W * h' W i)), !dot_scale_l, A2, B2, A4, B4, Q2R_add, !Q2R_mul.
    auto.
  - rewrite !orb_true_iff, !andb_true_iff. rewrite Q2R_mul. intros [[[S S']|[S Z]]|[S Z]] y.
    + rewrite (A5 S), (B5 S'). auto.
    + rewrite (A5 S), (qz_true _ Z). ring.
    + rewrite (B5 S), (qz_true _ Z). ring.
Qed.

(* {1 Signs beside the direction} *)

Lemma from_w : forall i, (i < n)%nat -> exists u, nth i A [] = 0%Q :: u.
Proof.
  intros i Hi. unfold arc. eexists.
  rewrite (nth_indep _ [] ((fun i => 0%Q :: map (fun d => nth i d 0%Q) [d]) 0%nat)) by (rewrite map_length, seq_length; auto).
  rewrite (map_nth (fun i => 0%Q :: map (fun d => nth i d 0%Q) [d])). reflexivity.
Qed.

Lemma arc_line t i : (i < n)%nat -> arc_at W A t i = line W t (real d) i.
Proof.
  intro Hi. unfold arc_at, arc.
  rewrite (nth_indep _ [] ((fun i => 0%Q :: map (fun d => nth i d 0%Q) [d]) 0%nat)) by (rewrite map_length, seq_length; auto).
  rewrite (map_nth (fun i => 0%Q :: map (fun d => nth i d 0%Q) [d])), seq_nth by auto. simpl. rewrite Q2R_0.
  unfold line, real. ring.
Qed.

Lemma beside_w e : 0 < e -> beside (fun y => N n (sub y W) < e).
Proof. apply beside_near, from_w. Qed.

Lemma positive_at f f' v t s g : smooth f f' v t s g -> 0 < Q2R v -> beside (fun y => 0 < f y).
Proof.
  intros [A1 A2 _ _ _] Hv. destruct (cont_sign n f W (C1_cont n f f' W A1)) as [e [E1 E2]]; [rewrite A2; auto|].
  apply (beside_imp n W A _ _ (beside_w e E1)). auto.
Qed.

Lemma positive_along f f' v t s g : smooth f f' v t s g -> Q2R v = 0 -> 0 < Q2R t -> beside (fun y => 0 < f y).
Proof.
  intros [A1 A2 _ A4 _] Hv Ht. pose proof (c1_diff n f f' A1 W) as D. pose proof (N_nonneg n (real d)) as Nd.
  destruct (D (Q2R t / (2 * (N n (real d) + 1)))) as [e [E1 E2]]; [apply Rdiv_lt_0_compat; lra|].
  destruct (arc_near n W A from_w e E1) as [T [T1 T2]]. exists T. split; auto. intros u Hu. specialize (T2 u Hu).
  apply (cont_sign n f (arc_at W A u) (C1_cont n f f' _ A1)). specialize (E2 _ T2).
  assert (Sub : forall i, (i < n)%nat -> sub (arc_at W A u) W i = sub (line W u (real d)) W i).
  { intros i Hi. unfold sub. rewrite arc_line by auto. auto. }
  rewrite (dot_ext n (f' W) (f' W) _ _ (fun i Hi => eq_refl) Sub), dot_line, A4 in E2.
  rewrite (N_ext n _ _ Sub), N_line, (Rabs_right u), A2, Hv in E2 by lra.
  assert (K : Q2R t / (2 * (N n (real d) + 1)) * (u * N n (real d)) <= Q2R t / 2 * u).
  { replace (Q2R t / 2 * u) with (Q2R t / (2 * (N n (real d) + 1)) * (u * (N n (real d) + 1))) by (field; lra).
    apply Rmult_le_compat_l; [left; apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_l; lra. }
  assert (P : 0 < u * Q2R t) by (apply Rmult_lt_0_compat; lra).
  pose proof (Rle_abs (- (f (arc_at W A u) - 0 - u * Q2R t))) as L. rewrite Rabs_Ropp in L. lra.
Qed.

(* {1 Kinks} *)

Lemma kink_below a b z : z < 0 -> kinkR a b z = Q2R a * z.
Proof. unfold kinkR. intro. destruct (Rlt_dec z 0); lra. Qed.
Lemma kink_above a b z : 0 < z -> kinkR a b z = Q2R b * z.
Proof. unfold kinkR. intro. destruct (Rlt_dec z 0); lra. Qed.

Lemma kink_beside a b p f f' x g : smooth f f' (at_w x) (along_d x) (still x) g -> settled a b p x = true ->
  beside (fun y => kinkR a b (f y) = Q2R (slope a b p (at_w x)) * f y).
Proof.
  intros S H. pose proof (smooth_scale (-1) _ _ _ _ _ _ S) as S'. unfold settled, slope in *.
  pose proof (qsgn_spec (at_w x)) as V. destruct (qsgn (at_w x)).
  - apply orb_true_iff in H as [H|H].
    + apply beside_all. intro y. rewrite (smooth_still _ _ _ _ _ _ S H), V. unfold kinkR. destruct (Rlt_dec 0 0); lra.
    + pose proof (qsgn_spec (along_d x)) as L. destruct (qsgn (along_d x)); try discriminate; apply Qeq_bool_R in H.
      * apply (beside_imp n W A (fun y => 0 < Q2R (-1) * f y)).
        -- apply (positive_along _ _ _ _ _ _ S'); rewrite Q2R_mul, Q2R_m1; lra.
        -- intros y Hy. rewrite Q2R_m1 in Hy. rewrite kink_below, H; lra.
      * apply (beside_imp n W A (fun y => 0 < f y)); [apply (positive_along _ _ _ _ _ _ S); auto|].
        intros y Hy. rewrite kink_above, H; auto.
  - apply (beside_imp n W A (fun y => 0 < Q2R (-1) * f y)).
    + apply (positive_at _ _ _ _ _ _ S'); rewrite Q2R_mul, Q2R_m1; lra.
    + intros y Hy. rewrite Q2R_m1 in Hy. apply kink_below. lra.
  - apply (beside_imp n W A (fun y => 0 < f y)); [apply (positive_at _ _ _ _ _ _ S); auto|].
    intros y Hy. apply kink_above; auto.
Qed.

Lemma kink_value a b p v : Q2R (qmul (slope a b p v) v) = Q2R (qmul (slope a b b v) v).
Proof. unfold slope. rewrite !Q2R_mul. pose proof (qsgn_spec v). destruct (qsgn v); try lra. rewrite H. lra. Qed.

(* {1 The invariant} *)

(* Of the slot k, given the slots' numbers at y, and their duals. *)
Record knows (env : pt -> list R) (G : list dual) c k x : Prop := {
  knows_slot : (k < c)%nat;
  knows_smooth : exists f f', smooth f f' (at_w x) (along_d x) (still x) (snd (nth k G dual0)) /\
    beside (fun y => nth k (env y) 0 = f y);
  knows_value : at_w x = val G k;
  knows_same : (same_as x < c)%nat /\ forall y, nth k (env y) 0 = nth (same_as x) (env y) 0;
  knows_made : (forall a, In a (args (made x)) -> (a < c)%nat) /\ forall y, nth k (env y) 0 = stepR (env y) (made x) }.
Definition holds_for env G c T := (forall y, length (env y) = c) /\ length G = c /\
  forall k x, find k T = Some x -> knows env G c k x.

Lemma stepR_app env more o : (forall a, In a (args o) -> (a < length env)%nat) -> stepR (env ++ more) o = stepR env o.
Proof.
  intro H. transitivity (stepR env (rename (fun a => a) o)); [|rewrite rename_id; auto].
  apply step_rename. intros a Ha. apply app_nth1, H, Ha.
Qed.

Lemma knows_later env G c k x v g : (forall y, length (env y) = c) -> length G = c -> knows env G c k x ->
  knows (fun y => env y ++ [v y]) (G ++ [g]) (S c) k x.
Proof.
  intros L1 L2 [K1 (f & f' & K2 & K3) K4 [K5 K6] [K7 K8]]. unfold val in *. split; auto.
  - exists f, f'. rewrite app_nth1 by lia. split; auto. apply (beside_imp n W A _ _ K3). intros y Hy.
    rewrite app_nth1; auto. rewrite L1; auto.
  - unfold val. rewrite app_nth1 by lia. auto.
  - split; [lia|]. intro y. rewrite !app_nth1 by (rewrite L1; lia). auto.
  - split; [intros a Ha; specialize (K7 a Ha); lia|]. intro y. rewrite app_nth1 by (rewrite L1; lia).
    rewrite stepR_app by (intros a Ha; rewrite L1; auto). auto.
Qed.

Section Step.
Variables (env : pt -> list R) (G : list dual) (c : nat) (T : store).
Hypothesis Hold : holds_for env G c T.

Lemma smooth_of k x : find k T = Some x -> exists f f', smooth f f' (at_w x) (along_d x) (still x) (snd (nth k G dual0)) /\
  beside (fun y => nth k (env y) 0 = f y).
Proof. intro F. destruct Hold as (_ & _ & H). apply (knows_smooth _ _ _ _ _ (H k x F)). Qed.

Lemma value_of k x : find k T = Some x -> at_w x = val G k.
Proof. intro F. destruct Hold as (_ & _ & H). apply (knows_value _ _ _ _ _ (H k x F)). Qed.

Definition follows (m : moves) (dl : dual) (h : pt -> R) := fst (fst m) = fst dl /\
  exists f f', smooth f f' (fst (fst m)) (snd (fst m)) (snd m) (snd dl) /\ beside (fun y => h y = f y).

Lemma lin_follows c0 l : forall m, lin_moves c0 l T = Some m -> follows m (linD c0 l G) (fun y => linR c0 l (env y)).
Proof.
  induction l as [|[q k] l IH]; simpl; intros m H.
  - inversion H; subst. split; auto. exists (fun _ => Q2R c0), (fun _ _ => 0). split; [apply smooth_const|].
    apply beside_all; auto.
  - destruct (find k T) as [x|] eqn:F; try discriminate. destruct (lin_moves c0 l T) as [[[v t] s]|]; try discriminate.
    inversion H; subst. destruct (IH _ eq_refl) as [V (f & f' & S & B)]. destruct (smooth_of k x F) as (h & h' & S' & B').
    simpl in *. split; simpl; [rewrite V, (value_of k x F); auto|].
    exists (fun y => Q2R q * h y + f y), (fun y i => Q2R q * h' y i + f' y i). split.
    + apply (smooth_add q h h' _ _ _ _ f f' _ _ _ _ S' S).
    + apply (beside_imp n W A _ _ (beside_and n W A _ _ B B')). intros y [Y1 Y2]. rewrite Y1, Y2. auto.
Qed.

Lemma mul_follows i j x y : find i T = Some x -> find j T = Some y ->
  follows (mul_moves x y) (stepD G (Mul i j)) (fun z => stepR (env z) (Mul i j)).
Proof.
  intros F F'. destruct (smooth_of i x F) as (f & f' & S & B). destruct (smooth_of j y F') as (h & h' & S' & B').
  pose proof (value_of i x F) as V. pose proof (value_of j y F') as V'. unfold val in *. unfold follows. simpl.
  rewrite <- V, <- V'. split; auto. exists (fun z => f z * h z), (fun z i => h z * f' z i + f z * h' z i). split.
  - apply smooth_mul; auto.
  - apply (beside_imp n W A _ _ (beside_and n W A _ _ B B')). intros z [Y1 Y2]. rewrite Y1, Y2. auto.
Qed.

Lemma kink_follows i a b p x m : find i T = Some x -> kink_moves a b p x = Some m ->
  follows m (stepD G (Kink i a b p)) (fun z => stepR (env z) (Kink i a b p)).
Proof.
  intros F H. destruct (smooth_of i x F) as (f & f' & S & B). pose proof (value_of i x F) as V. unfold val in V.
  unfold kink_moves in H. destruct (settled a b p x) eqn:St; inversion H; subst. unfold follows. simpl. rewrite <- V.
  split; auto. pose proof (smooth_scale (slope a b p (at_w x)) _ _ _ _ _ _ S) as [A1 A2 A3 A4 A5].
  exists (fun y => Q2R (slope a b p (at_w x)) * f y), (fun y i => Q2R (slope a b p (at_w x)) * f' y i). split.
  - split; auto; try (rewrite A2; apply kink_value). intros Hs y. rewrite (A5 Hs). apply kink_value.
  - apply (beside_imp n W A _ _ (beside_and n W A _ _ B (kink_beside a b p _ _ x _ S St))). intros z [Y1 Y2].
    rewrite Y1. auto.
Qed.

(* {1 The largest} *)

Lemma finds_In l : forall xs, finds l T = Some xs -> length xs = length l /\
  map at_w xs = map (val G) l /\ forall j, (j < length l)%nat -> forall e, find (nth j l 0%nat) T = Some (nth j xs e).
Proof.
  induction l as [|k l IH]; simpl; intros xs H; [inversion H; repeat split; auto; intros; lia|].
  destruct (find k T) as [x|] eqn:F; try discriminate. destruct (finds l T) as [ys|]; try discriminate.
  inversion H; subst. destruct (IH ys eq_refl) as (I1 & I2 & I3). simpl. split; [lia|]. split.
  - rewrite I2, (value_of k x F). auto.
  - intros [|j] Hj e; auto. apply I3. lia.
Qed.

(* What loses to x is at most x beside the direction. *)
Lemma loses_beside i j x y : find i T = Some x -> find j T = Some y -> loses x y = true ->
  beside (fun z => nth j (env z) 0 <= nth i (env z) 0).
Proof.
  intros F F' H. destruct (smooth_of i x F) as (f & f' & S & B). destruct (smooth_of j y F') as (h & h' & S' & B').
  pose proof (smooth_add (-1) _ _ _ _ _ _ _ _ _ _ _ _ S' S) as D.
  assert (Less : beside (fun z => 0 <= Q2R (-1) * h z + f z) -> beside (fun z => nth j (env z) 0 <= nth i (env z) 0)).
  { intro L. apply (beside_imp n W A _ _ (beside_and n W A _ _ L (beside_and n W A _ _ B B'))).
    intros z (Z1 & Z2 & Z3). rewrite Z2, Z3. rewrite Q2R_m1 in Z1. lra. }
  assert (Pos : forall P : pt -> R, beside (fun z => 0 < P z) -> beside (fun z => 0 <= P z)).
  { intros P L. apply (beside_imp n W A _ _ L). intros; lra. }
  unfold loses in H. destruct (at_w y ?= at_w x)%Q eqn:C; try discriminate.
  - apply Qeq_alt, Qeq_eqR in C. apply orb_true_iff in H as [H|H]; [apply orb_true_iff in H as [H|H]|].
    + apply Nat.eqb_eq in H. destruct Hold as (_ & _ & K). apply beside_all. intro z.
      rewrite (proj2 (knows_same _ _ _ _ _ (K i x F)) z), (proj2 (knows_same _ _ _ _ _ (K j y F')) z), H. lra.
    + apply andb_true_iff in H as [H1 H2]. apply Less, beside_all. intro z.
      rewrite (smooth_still _ _ _ _ _ _ S H2), (smooth_still _ _ _ _ _ _ S' H1), C, Q2R_m1. lra.
    + destruct (along_d y ?= along_d x)%Q eqn:C'; try discriminate. apply Qlt_alt, Qlt_Rlt in C'.
      apply Less, Pos, (positive_along _ _ _ _ _ _ D); rewrite Q2R_add, Q2R_mul, Q2R_m1; lra.
  - apply Qlt_alt, Qlt_Rlt in C. apply Less, Pos, (positive_at _ _ _ _ _ _ D). rewrite Q2R_add, Q2R_mul, Q2R_m1. lra.
Qed.

Lemma all_lose i x l : find i T = Some x -> forall xs, finds l T = Some xs -> forallb (loses x) xs = true ->
  beside (fun z => forall v, In v (map (fun k => nth k (env z) 0) l) -> v <= nth i (env z) 0).
Proof.
  intro F. induction l as [|k l IH]; simpl; intros xs H L; [apply beside_all; intros y v []|].
  destruct (find k T) as [y|] eqn:F'; try discriminate. destruct (finds l T) as [ys|]; try discriminate.
  inversion H; subst. simpl in L. apply andb_true_iff in L as [L1 L2].
  apply (beside_imp n W A _ _ (beside_and n W A _ _ (loses_beside i k x y F F' L1) (IH ys eq_refl L2))).
  intros z [Z1 Z2] v [V|V]; subst; auto.
Qed.

Lemma kth_of_largest l x : In x l -> (forall z, In z l -> z <= x) -> kthR 1 l = x.
Proof.
  intros I H. apply is_kth_kthR. split; [rewrite (above_none x l H); lia|]. clear H.
  induction l as [|y l IH]; [contradiction|]. change (y :: l) with ([y] ++ l). rewrite from_app.
  destruct I as [I|I]; [subst; unfold from at 1; simpl; destruct (Rlt_dec x x); [lra|simpl; lia]|].
  specialize (IH I). lia.
Qed.

Lemma finds_filter v l : forall xs, finds l T = Some xs ->
  finds (filter (fun k => Qeq_bool (val G k) v) l) T = Some (filter (fun x => Qeq_bool (at_w x) v) xs).
Proof.
  induction l as [|k l IH]; simpl; intros xs H; [inversion H; auto|].
  destruct (find k T) as [x|] eqn:F; try discriminate. destruct (finds l T) as [ys|]; try discriminate.
  inversion H; subst. simpl. rewrite (value_of k x F). destruct (Qeq_bool (val G k) v); auto.
  simpl. rewrite F, (IH ys eq_refl). auto.
Qed.

Lemma first_found l xs x : finds l T = Some xs -> hd_error xs = Some x ->
  find (nth 0 l 0%nat) T = Some x /\ In (nth 0 l 0%nat) l.
Proof.
  destruct l as [|k l]; simpl; intros H E; [inversion H; subst; discriminate|].
  destruct (find k T) as [y|]; try discriminate. destruct (finds l T); try discriminate. inversion H; subst.
  inversion E; subst; auto.
Qed.

Lemma last_found l : forall xs x, finds l T = Some xs -> hd_error (rev xs) = Some x ->
  find (last l 0%nat) T = Some x /\ In (last l 0%nat) l.
Proof.
  induction l as [|k l IH]; simpl; intros xs x H E; [inversion H; subst; discriminate|].
  destruct (find k T) as [y|] eqn:F; try discriminate. destruct (finds l T) as [ys|] eqn:Fl; try discriminate.
  inversion H; subst. simpl in E. destruct l as [|k' l].
  - simpl in Fl. inversion Fl; subst. simpl in E. inversion E; subst; auto.
  - assert (E' : hd_error (rev ys) = Some x).
    { destruct (rev ys) eqn:R; auto. simpl in Fl. destruct (find k' T); try discriminate.
      destruct (finds l T); try discriminate. inversion Fl; subst. simpl in R. destruct (rev l0); discriminate. }
    destruct (IH ys x eq_refl E'). auto.
Qed.

(* AD's form has the derivative of the entry that is picked. *)
Lemma no_share q (l : list nat) i : Q2R q = 0 -> Q2R (nth i (snd (linD 0 (map (fun k => (q, k)) l) G)) 0%Q) = 0.
Proof.
  intro Hq. induction l as [|k l IH]; simpl; [destruct i; apply Q2R_0|]. rewrite gadd_at, gscale_at, IH, Hq. ring.
Qed.

Lemma largest_follows l u beta xs m : finds l T = Some xs -> largest_moves u beta xs = Some m ->
  follows m (stepD G (Kth 1 l u beta)) (fun z => stepR (env z) (Kth 1 l u beta)).
Proof.
  intros F H. destruct (finds_In l xs F) as (_ & Vs & _). unfold largest_moves in H. rewrite Vs in H.
  set (v := kthQ 1 (map (val G) l)) in *. pose proof (finds_filter v l xs F) as Ft.
  set (tied := filter (fun k => Qeq_bool (val G k) v) l) in *. set (txs := filter _ xs) in *.
  destruct (match u with First => hd_error txs | Last => hd_error (rev txs) | Stable => None end) as [x|] eqn:P;
    try discriminate.
  destruct (Qeq_bool beta 0) eqn:Hb; try discriminate. destruct (forallb (loses x) xs) eqn:Lo; try discriminate.
  inversion H; subst m. clear H. apply Qeq_bool_R in Hb. rewrite Q2R_0 in Hb.
  assert (K : find (picked u 1 l G tied) T = Some x /\ In (picked u 1 l G tied) tied).
  { unfold picked. destruct u; try discriminate; [apply (first_found _ _ _ Ft P)|apply (last_found _ _ _ Ft P)]. }
  destruct K as [K1 K2]. set (k := picked u 1 l G tied) in *.
  destruct (smooth_of k x K1) as (f & f' & S & B). unfold tied in K2. apply filter_In in K2 as [K2 K3].
  rewrite <- (value_of k x K1) in K3. apply Qeq_bool_R in K3. unfold follows. simpl. fold v. split; auto.
  exists f, f'. split.
  - destruct S as [A1 A2 A3 A4 A5]. split; auto; [rewrite A2; auto| |intros Hs y; rewrite (A5 Hs); auto].
    intros i Hi. rewrite A3 by auto. unfold tie_form. fold v. fold tied. fold k. cbn [map linD snd].
    rewrite gadd_at, gscale_at, no_share by (rewrite Q2R_mul, Hb; ring). rewrite Q2R_sub, Hb, Q2R_1. ring.
  - apply (beside_imp n W A _ _ (beside_and n W A _ _ B (all_lose k x l K1 xs F Lo))). intros z [Z1 Z2].
    rewrite <- Z1. apply kth_of_largest; auto. apply (in_map (fun k => nth k (env z) 0)), K2.
Qed.

(* {1 One instruction, then all} *)

Lemma step_follows o m : moves_of o T = Some m -> follows m (stepD G o) (fun z => stepR (env z) o).
Proof.
  destruct o as [c0 l|i j|i a b p|r l u beta|t i j|t k l]; simpl; intro H; try discriminate.
  - apply (lin_follows c0 l m H).
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct (find j T) as [y|] eqn:F'; try discriminate.
    inversion H; subst. apply (mul_follows i j x y F F').
  - destruct (find i T) as [x|] eqn:F; try discriminate. apply (kink_follows i a b p x m F H).
  - destruct (Nat.eqb_spec r 1); try discriminate. subst r. destruct (finds l T) as [xs|] eqn:F; try discriminate.
    apply (largest_follows l u beta xs m F H).
Qed.

(* The slots that an instruction has are there. *)
Lemma args_found o m : moves_of o T = Some m -> forall a, In a (args o) -> exists x, find a T = Some x.
Proof.
  destruct o as [c0 l|i j|i a b p|r l u beta|t i j|t k l]; simpl; intros H e He; try discriminate.
  - revert m H e He. induction l as [|[q k] l IH]; simpl; intros m H e He; [contradiction|].
    destruct (find k T) as [x|] eqn:F; try discriminate. destruct (lin_moves c0 l T) as [[[v t] s]|] eqn:L; try discriminate.
    destruct He as [He|He]; [subst; eauto|apply (IH _ eq_refl e He)].
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct (find j T) as [y|] eqn:F'; try discriminate.
    destruct He as [He|[He|[]]]; subst; eauto.
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct He as [He|[]]; subst; eauto.
  - destruct (Nat.eqb r 1); try discriminate. destruct (finds l T) as [xs|] eqn:F; try discriminate. clear H.
    revert xs F e He. induction l as [|k l IH]; simpl; intros xs F e He; [contradiction|].
    destruct (find k T) as [x|] eqn:F'; try discriminate. destruct (finds l T) as [ys|] eqn:Fl; try discriminate.
    destruct He as [He|He]; [subst; eauto|apply (IH ys eq_refl e He)].
Qed.

Lemma canonical_step o m : moves_of o T = Some m -> (forall a, In a (args (canonical o T)) -> (a < c)%nat) /\
  forall y, stepR (env y) o = stepR (env y) (canonical o T).
Proof.
  intro H. destruct Hold as (_ & _ & K). set (r := fun a => match find a T with Some x => same_as x | None => a end).
  assert (E : forall a, In a (args o) -> (r a < c)%nat /\ forall y, nth a (env y) 0 = nth (r a) (env y) 0).
  { intros a Ha. destruct (args_found o m H a Ha) as [x Hx]. unfold r. rewrite Hx. apply (knows_same _ _ _ _ _ (K a x Hx)). }
  split.
  - assert (Ar : args (canonical o T) = map r (args o)).
    { unfold canonical. fold r. destruct o; simpl; auto. rewrite !map_map. auto. }
    intros a Ha. rewrite Ar in Ha. apply in_map_iff in Ha as [a' [E1 E2]]. subst a. apply E, E2.
  - intro y. apply step_rename. intros a Ha. apply E, Ha.
Qed.

Lemma info_follows o j x : info_of o j c T = Some x ->
  knows (fun y => env y ++ [stepR (env y) o]) (G ++ [stepD G o]) (S c) c x.
Proof.
  unfold info_of. destruct (moves_of o T) as [[[v t] s]|] eqn:M; try discriminate. intro H.
  destruct (step_follows o _ M) as [V (f & f' & Sm & B)]. destruct (canonical_step o _ M) as [C1 C2].
  destruct Hold as (L1 & L2 & K). simpl in V, Sm.
  assert (Here : forall y, nth c (env y ++ [stepR (env y) o]) 0 = stepR (env y) o).
  { intro y. rewrite <- (L1 y), app_nth2, Nat.sub_diag; auto. }
  assert (Hg : nth c (G ++ [stepD G o]) dual0 = stepD G o) by (rewrite <- L2, app_nth2, Nat.sub_diag; auto).
  assert (Same : exists k, (match find j T with Some x => if same_instr (canonical o T) (made x) then same_as x else c
    | None => c end) = k /\ (k < S c)%nat /\ forall y, stepR (env y) o = nth k (env y ++ [stepR (env y) o]) 0).
  { eexists. split; [reflexivity|]. destruct (find j T) as [z|] eqn:Fj; [|split; [lia|intro y; rewrite Here; auto]].
    destruct (same_instr (canonical o T) (made z)) eqn:Si; [|split; [lia|intro y; rewrite Here; auto]].
    destruct (K j z Fj) as [K1 K2 K3 [K4 K5] [K6 K7]]. split; [lia|]. intro y.
    rewrite app_nth1 by (rewrite L1; auto). rewrite <- K5, K7, C2. apply same_instr_step, Si. }
  destruct Same as [k [E1 [E2 E3]]]. rewrite E1 in H. inversion H; subst x. split; simpl.
  - lia.
  - exists f, f'. rewrite Hg. split; auto. apply (beside_imp n W A _ _ B). intros y Hy. rewrite Here. auto.
  - unfold val. rewrite Hg. auto.
  - split; auto. intro y. rewrite Here. auto.
  - split; [intros a Ha; specialize (C1 a Ha); lia|]. intro y. rewrite Here, C2.
    symmetry. apply stepR_app. intros a Ha. rewrite L1. auto.
Qed.
End Step.

Lemma follow_direction_sound P : forall hints env G c T T', holds_for env G c T ->
  follow_direction P hints c T = Some T' ->
  holds_for (fun y => runR (env y) P) (runD G P) (c + length P) T'.
Proof.
  induction P as [|[g o] P IH]; simpl; intros hints env G c T T' H F.
  - inversion F; subst. rewrite Nat.add_0_r. auto.
  - destruct (info_of o (hd c hints) c T) as [x|] eqn:I; try discriminate. rewrite Nat.add_succ_r, <- Nat.add_succ_l.
    apply (IH (tl hints) (fun y => env y ++ [stepR (env y) o]) (G ++ [stepD G o]) (S c) (put c x T) T'); auto.
    pose proof (info_follows env G c T H o _ x I) as Kx. destruct H as (L1 & L2 & K).
    split; [intro y; rewrite app_length, L1; simpl; lia|]. split; [rewrite app_length, L2; simpl; lia|].
    intros k z Hz. destruct (find_put _ _ _ _ _ Hz) as [[E1 E2]|E]; [subst; auto|].
    apply (knows_later env G c k z (fun y => stepR (env y) o) (stepD G o)); auto.
Qed.

(* {1 The inputs} *)

Notation inputs_at := (fun y : pt => map y (seq 0 n)).

Lemma nth_inputs y k : (k < n)%nat -> nth k (map y (seq 0 n)) 0 = y k.
Proof.
  intro Hk. rewrite (nth_indep _ 0 (y 0%nat)) by (rewrite map_length, seq_length; auto). rewrite map_nth, seq_nth by auto. auto.
Qed.

Lemma nth_duals k : (k < n)%nat -> nth k (inputs n w) dual0 = (nth k w 0%Q, basis n k).
Proof.
  intro Hk. unfold inputs. rewrite (nth_indep _ dual0 ((fun k => (nth k w 0%Q, basis n k)) 0%nat)) by (rewrite map_length,
    seq_length; auto).
  rewrite (map_nth (fun k => (nth k w 0%Q, basis n k))), seq_nth by auto. auto.
Qed.

Lemma knows_input k : (k < n)%nat -> knows inputs_at (inputs n w) n k
  {| at_w := nth k w 0%Q; along_d := nth k d 0%Q; still := false; same_as := k; made := Lin 0 [(1%Q, k)] |}.
Proof.
  intro Hk. split; simpl; auto.
  - exists (fun y => (y k - W k) + Q2R (nth k w 0%Q)), (fun _ i => (if Nat.eqb i k then 1 else 0) + 0). split.
    + split.
      * apply C1_add; [apply C1_coord; auto|apply C1_const].
      * unfold real. ring.
      * intros i Hi. rewrite nth_duals by auto. simpl. rewrite basis_at by auto. ring.
      * rewrite (dot_add_l n (fun i => if Nat.eqb i k then 1 else 0)), dot_zero_l, dot_unit by auto. unfold real. ring.
      * discriminate.
    + apply beside_all. intro y. rewrite nth_inputs by auto. unfold real. ring.
  - unfold val. rewrite nth_duals by auto. auto.
  - split; [intros a [E|[]]; subst; auto|]. intro y. rewrite Q2R_1, Q2R_0. ring.
Qed.

Lemma load_knows m : forall a T, (a + m <= n)%nat ->
  (forall k x, find k T = Some x -> knows inputs_at (inputs n w) n k x) ->
  forall k x, find k (load (map (fun k => (nth k w 0%Q, nth k d 0%Q)) (seq a m)) a T) = Some x ->
    knows inputs_at (inputs n w) n k x.
Proof.
  induction m as [|m IH]; simpl; intros a T Ha H k x Hx; auto. apply (IH (S a) _ ltac:(lia)) in Hx; auto.
  intros k' x' Hx'. destruct (find_put _ _ _ _ _ Hx') as [[E1 E2]|E]; auto. subst. apply knows_input. lia.
Qed.

(* {1 Soundness} *)

(* Smooth functions that F is beside the direction: their gradient at w is a limit of F's. *)
Lemma smooth_bouligand m (F : map_) (f : nat -> pt -> R) (f' : nat -> pt -> pt) G :
  (forall j, (j < m)%nat -> C1 n (f j) (f' j)) -> beside (fun y => forall j, (j < m)%nat -> F y j = f j y) ->
  (forall j i, (j < m)%nat -> (i < n)%nat -> f' j W i = G j i) -> Bouligand n m F W G.
Proof.
  intros C [T [T1 T2]] E e He.
  assert (D : exists r, 0 < r /\ forall y, N n (sub y W) < r -> forall j i, (j < m)%nat -> (i < n)%nat ->
    Rabs (f' j y i - G j i) < e).
  { clear T T1 T2. induction m as [|m IH]; [exists 1; split; [lra|intros; lia]|].
    destruct IH as [r [R1 R2]]; auto.
    destruct (cont_all n (f' m) W (fun i Hi => c1_cont n _ _ (C m ltac:(lia)) i Hi W) e He) as [r' [R1' R2']].
    exists (Rmin r r'). split; [apply Rmin_glb_lt; auto|]. intros y Hy j i Hj Hi.
    pose proof (Rmin_l r r'). pose proof (Rmin_r r r'). destruct (Nat.eq_dec j m) as [J|J].
    - subst. rewrite <- E by auto. apply R2'; auto. lra.
    - apply R2; auto; [lra|lia]. }
  destruct D as [r [R1 R2]]. destruct (arc_near n W A from_w (Rmin e r)) as [T' [T1' T2']]; [apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l e r). pose proof (Rmin_r e r). pose proof (Rmin_l T T'). pose proof (Rmin_r T T').
  assert (M : 0 < Rmin T T') by (apply Rmin_glb_lt; auto). set (x := arc_at W A (Rmin T T' / 2)).
  assert (X : N n (sub x W) < Rmin e r) by (apply T2'; lra).
  destruct (T2 (Rmin T T' / 2) ltac:(lra)) as [b [B1 B2]]. fold x in B2.
  exists x, (fun j => f' j x). split; [lra|]. split.
  - intros j Hj. apply (diff_local n (f j) _ x _ b B1); [intros y Hy; apply B2; auto|]. apply (c1_diff n _ _ (C j Hj)).
  - intros j i Hj Hi. apply R2; auto. lra.
Qed.

Theorem direction_sound P outs hints : check_direction n P outs w d hints = true ->
  Bouligand n (length outs) (value n P outs) W (reals (ad n P outs w)).
Proof.
  unfold check_direction. destruct (follow_direction _ _ _ _) as [T|] eqn:F; try discriminate. intro H.
  assert (H0 : holds_for inputs_at (inputs n w) n (load (entries_of n w d) 0 Empty)).
  { split; [intro y; rewrite map_length, seq_length; auto|]. split; [unfold inputs; rewrite map_length, seq_length; auto|].
    intros k x. apply load_knows; [lia|]. intros k' x' E. discriminate E. }
  destruct (follow_direction_sound P hints _ _ _ _ _ H0 F) as (_ & _ & K).
  set (env := fun y => runR (map y (seq 0 n)) P) in *. set (G := runD (inputs n w) P) in *.
  assert (S : exists (f : nat -> pt -> R) (f' : nat -> pt -> pt),
    (forall j, (j < length outs)%nat -> C1 n (f j) (f' j) /\
      forall i, (i < n)%nat -> f' j W i = Q2R (nth i (snd (nth (nth j outs 0%nat) G dual0)) 0%Q)) /\
    beside (fun y => forall j, (j < length outs)%nat -> nth (nth j outs 0%nat) (env y) 0 = f j y)).
  { clear F H0. induction outs as [|k outs IH]; simpl in H.
    - exists (fun _ _ => 0), (fun _ _ _ => 0). split; [simpl; intros; lia|]. apply beside_all. simpl. intros; lia.
    - apply andb_true_iff in H as [H1 H2]. destruct (find k T) as [x|] eqn:Fk; try discriminate.
      destruct (IH H2) as (f & f' & I1 & I2). destruct (knows_smooth _ _ _ _ _ (K k x Fk)) as (h & h' & [S1 S2 S3 S4 S5] & B).
      exists (fun j => match j with O => h | S j' => f j' end), (fun j => match j with O => h' | S j' => f' j' end). split.
      + intros [|j] Hj; simpl; auto. apply I1. simpl in Hj. lia.
      + apply (beside_imp n W A _ _ (beside_and n W A _ _ B I2)). intros y [Y1 Y2] [|j] Hj; simpl; auto.
        apply Y2. simpl in Hj. lia. }
  destruct S as (f & f' & S1 & S2). apply (smooth_bouligand _ _ f f').
  - intros j Hj. apply S1, Hj.
  - exact S2.
  - intros j i Hj Hi. rewrite (proj2 (S1 j Hj)) by auto. unfold reals, real, ad, duals. rewrite map_map. fold G.
    rewrite (nth_indep _ [] ((fun k => snd (nth k G dual0)) 0%nat)) by (rewrite map_length; auto).
    rewrite (map_nth (fun k => snd (nth k G dual0))). auto.
Qed.
End Direction.
