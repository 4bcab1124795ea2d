(* One direction, for large programs: where values and tangents are, no polynomials. Where each argument that is at a kink, and
   not constant, moves to the side whose slope AD takes, and each largest entry that AD picks wins, F is one smooth function
   beside the direction, and AD's output is its Jacobian at w. *)
From Coq Require Import ZArith QArith Qreals Reals Lra Lia List Bool.
From Clarke Require Import Space Calculus Numbers Store Program Rank Poly Choice Arc Order Lipschitz Loss Gate Range Domain.
Import ListNotations.
Open Scope R_scope.

(* {1 The check} *)

(* Of a slot: its value at w, its derivative along d, whether it is constant; an earlier slot that is the same function, and
   what makes it of such slots. *)
Record info := { at_w : range; along_d : range; still : bool; same_as : nat; made : gate }.

Definition store := tree info.
Definition moves := (range * range * bool)%type.
Definition zero (r : range) := match r with Exactly q => qz q | Within _ _ => false end.
Definition scale_moves q (m : moves) : moves := let '(v, t, s) := m in (rscale q v, rscale q t, s || qz q).
Definition add_moves (m m' : moves) : moves := let '(v, t, s) := m in let '(v', t', s') := m' in (radd v v', radd t t',
  s && s').
Definition mul_moves (m m' : moves) : moves := let '(v, t, s) := m in let '(v', t', s') := m' in
  (rmul v v', radd (rmul v' t) (rmul v t'), (s && s') || (s && zero v) || (s' && zero v')).
Definition moves_at (x : info) : moves := (at_w x, along_d x, still x).
Fixpoint lin_moves c (l : list (Q * nat)) (T : store) : option moves := match l with [] => Some (Exactly c, Exactly 0, true)
  | (q, k) :: l' => match find k T, lin_moves c l' T with
    | Some x, Some m => Some (add_moves (scale_moves q (moves_at x)) m) | _, _ => None end end.
Fixpoint dot_moves (l : list (Q * (nat * nat))) (T : store) : option moves := match l with
  | [] => Some (Exactly 0, Exactly 0, true)
  | (q, (i, j)) :: l' => match find i T, find j T, dot_moves l' T with
    | Some x, Some y, Some m => Some (add_moves (scale_moves q (mul_moves (moves_at x) (moves_at y))) m) | _, _,
      _ => None end end.
(* The slope of the piece that x is on, or of that to which it moves if this is p. *)
Definition kink_slope a b p x : option Q := match rsgn (at_w x) with
  | Some Lt => Some a | Some Gt => Some b
  | Some Eq => if still x || match rsgn (along_d x) with Some Lt => Qeq_bool a p | Some Gt => Qeq_bool b p | _ => false end
               then Some p else None
  | None => None end.
Fixpoint finds (l : list nat) (T : store) : option (list info) := match l with [] => Some []
  | k :: l' => match find k T, finds l' T with Some x, Some xs => Some (x :: xs) | _, _ => None end end.
(* How two compare at w; is y below x; is it nowhere larger than x along the direction? *)
Definition same x y := Nat.eqb (same_as x) (same_as y).
Definition certain x y := if same x y then Some Eq else rcompare (at_w x) (at_w y).
Definition below x y : bool := match certain y x with Some Lt => true | _ => false end.
Definition loses x y : bool := match certain y x with Some Lt => true
  | Some Eq => same x y || (still y && still x) || match rcompare (along_d y) (along_d x) with Some Lt => true | _ => false end
  | _ => false end.
(* Which entry is the first, or the last, of the largest: a guess. *)
Fixpoint best u k c x (l : list info) : nat := match l with [] => c
  | y :: l' => if match u with Last => negb (below x y) | _ => below y x end then best u (S k) k y l' else best u (S k) c x
    l' end.
Definition largest_moves u beta (xs : list info) : option (nat * moves) := match xs with [] => None
  | x0 :: l => let c := best u 1 0 x0 l in match nth_error xs c with None => None
    | Some x => let before := firstn c xs in let after := skipn (S c) xs in
        if forallb (fun y => below x y || same x y) xs then Some (c, moves_at x) else
        if Qeq_bool beta 0 && match u with First => forallb (below x) before && forallb (loses x) after
            | Last => forallb (loses x) before && forallb (below x) after | Stable => false end
        then Some (c, moves_at x) else None end end.
Definition fn_moves f x : option moves := match f with
  | Exp => match rexp (at_w x) with Some v => Some (v, rmul v (along_d x), still x) | None => None end
  | Root => match rroot (at_w x) with None => None
    | Some v => match rinverse (rscale 2 v) with Some i => Some (v, rmul i (along_d x), still x) | None => None end end
  | Inverse => match rinverse (at_w x) with
    | Some v => Some (v, rmul (rscale (-1) (rmul v v)) (along_d x), still x) | None => None end
  | Log => match rlog (at_w x), rinverse (at_w x) with
    | Some v, Some i => Some (v, rmul i (along_d x), still x) | _, _ => None end
  | Elu => match rexp (rbelow (at_w x)) with
    | Some v => Some (radd (rabove (at_w x)) (radd v (Exactly (-1))), rmul v (along_d x), still x) | None => None end
  | SquareAbove => let v := rabove (at_w x) in Some (rmul v v, rmul (rscale 2 v) (along_d x), still x)
  | Above => match rsgn (at_w x) with
    | Some Gt => Some (Exactly 1, Exactly 0, true) | Some Lt => Some (Exactly 0, Exactly 0, true) | _ => None end end.
Definition moves_of g T : option moves := match g with
  | Plain (Lin c l) => lin_moves c l T
  | Plain (Mul i j) => match find i T, find j T with Some x, Some y => Some (mul_moves (moves_at x) (moves_at y)) | _,
    _ => None end
  | Plain (Kink i a b p) => match find i T with None => None
    | Some x => match kink_slope a b p x with Some q => Some (scale_moves q (moves_at x)) | None => None end end
  | Plain (Kth r l u beta) => if Nat.eqb r 1 then match finds l T with None => None
    | Some xs => match largest_moves u beta xs with Some (_, m) => Some m | None => None end end else None
  | Plain _ => None
  | Dot c l m => match lin_moves c l T, dot_moves m T with Some a, Some b => Some (add_moves a b) | _, _ => None end
  | Fun f i => match find i T with Some x => fn_moves f x | None => None end end.

Definition gate_args g : list nat := match g with Plain o => args o
  | Dot _ l m => map snd l ++ flat_map (fun t : Q * (nat * nat) => [fst (snd t); snd (snd t)]) m | Fun _ i => [i] end.
Definition rename_gate (f : nat -> nat) g := match g with Plain o => Plain (rename f o)
  | Dot c l m => Dot c (map (fun t => (fst t, f (snd t))) l) (map (fun t => (fst t, (f (fst (snd t)), f (snd (snd t))))) m)
  | Fun h i => Fun h (f i) end.
Fixpoint same_products (a b : list (Q * (nat * nat))) := match a, b with [], [] => true
  | (p, (i, j)) :: a', (q, (k, l)) :: b' => Qeq_bool p q && Nat.eqb i k && Nat.eqb j l && same_products a' b' | _,
    _ => false end.
Definition same_fn f g := match f, g with Exp, Exp | Root, Root | Inverse, Inverse | Log, Log | Elu, Elu | SquareAbove,
  SquareAbove
  | Above, Above => true | _, _ => false end.
Definition same_gate g g' : bool := match g, g' with Plain o, Plain o' => same_instr o o'
  | Dot c l m, Dot c' l' m' => Qeq_bool c c' && same_terms l l' && same_products m m'
  | Fun f i, Fun f' i' => same_fn f f' && Nat.eqb i i' | _, _ => false end.

(* The hint j: the gate is that of the slot j, of arguments that are the same. *)
Definition canonical g (T : store) := rename_gate (fun a => match find a T with Some x => same_as x | None => a end) g.
Definition info_of g j c T : option info := match moves_of g T with
  | Some (v, t, s) => let g' := canonical g T in
      let k := match find j T with Some x => if same_gate g' (made x) then same_as x else c | None => c end in
      Some {| at_w := v; along_d := t; still := s; same_as := k; made := g' |}
  | None => None end.
Fixpoint follow_direction (P : list gate) (hints : list nat) c T : option store := match P with [] => Some T
  | g :: P' => match info_of g (hd c hints) c T with
    | Some x => follow_direction P' (tl hints) (S c) (put c x T) | None => None end end.
Fixpoint load (l : list (Q * Q)) c T : store := match l with [] => T
  | (v, t) :: l' => load l' (S c) (put c
      {| at_w := Exactly v; along_d := Exactly t; still := false; same_as := c; made := Plain (Lin 0 [(1%Q, c)]) |} T) end.
(* The first n of both, with 0 for what is not there. *)
Fixpoint entries_of n (w d : list Q) : list (Q * Q) := match n with O => []
  | S m => (hd 0%Q w, hd 0%Q d) :: entries_of m (tl w) (tl d) end.
Definition check_direction n P outs w d hints : bool :=
  match follow_direction P hints n (load (entries_of n w d) 0 Empty) with
  | Some T => forallb (fun k => match find k T with Some _ => true | None => false end) outs
  | None => false end.

Lemma entries_nth n : forall w d, entries_of n w d = map (fun k => (nth k w 0%Q, nth k d 0%Q)) (seq 0 n).
Proof.
  induction n as [|n IH]; intros w d; simpl; auto. rewrite IH, <- seq_shift, map_map. f_equal; [destruct w, d; auto|].
  apply map_ext. intro k. destruct w, d; simpl; auto; destruct k; auto.
Qed.

(* {1 Gates} *)

Section Gates.
Variables e log root : R -> R.
Notation gateR := (gateR e log root).
Notation runG := (runG e log root).

Lemma dot_rename f m env env' : (forall a, In a (flat_map (fun t : Q * (nat * nat) => [fst (snd t); snd (snd t)]) m) ->
  nth a env 0 = nth (f a) env' 0) ->
  dotR m env = dotR (map (fun t => (fst t, (f (fst (snd t)), f (snd (snd t))))) m) env'.
Proof.
  induction m as [|[q [i j]] m IH]; simpl; intro H; auto. rewrite (H i), (H j), IH by auto. auto.
Qed.

Lemma lin_rename c f l env env' : (forall a, In a (map snd l) -> nth a env 0 = nth (f a) env' 0) ->
  linR c l env = linR c (map (fun t : Q * nat => (fst t, f (snd t))) l) env'.
Proof. induction l as [|[q k] l IH]; simpl; intro H; auto. rewrite (H k), IH by auto. auto. Qed.

Lemma gate_rename f g env env' : (forall a, In a (gate_args g) -> nth a env 0 = nth (f a) env' 0) ->
  gateR env g = gateR env' (rename_gate f g).
Proof.
  destruct g as [o|c l m|h i]; simpl; intro H.
  - apply step_rename, H.
  - f_equal; [apply lin_rename|apply dot_rename]; intros a Ha; apply H, in_or_app; auto.
  - rewrite (H i); auto.
Qed.

Lemma rename_gate_id g : rename_gate (fun a => a) g = g.
Proof.
  destruct g as [o|c l m|h i]; simpl; auto; f_equal; [apply rename_id| |].
  - induction l as [|[q k] l IH]; simpl; [auto|f_equal; auto].
  - induction m as [|[q [j k]] m IH]; simpl; [auto|f_equal; auto].
Qed.

Lemma same_gate_value g g' env : same_gate g g' = true -> gateR env g = gateR env g'.
Proof.
  destruct g as [o|c l m|h i], g' as [o'|c' l' m'|h' i']; simpl; try discriminate; intro H.
  - apply same_instr_step, H.
  - rewrite !andb_true_iff in H. destruct H as [[H1 H2] H3].
    pose proof (same_instr_step (Lin c l) (Lin c' l') env) as L. simpl in L. rewrite L by (rewrite H1, H2; auto). f_equal.
    clear -H3. revert m' H3. induction m as [|[q [i j]] m IH]; intros [|[p [k n]] m'] H; simpl in *; try discriminate; auto.
    rewrite !andb_true_iff in H. destruct H as [[[A B] C] D]. apply Qeq_bool_R in A. apply Nat.eqb_eq in B, C. subst.
    rewrite A, (IH m' D). auto.
  - apply andb_true_iff in H as [H1 H2]. apply Nat.eqb_eq in H2. subst. destruct h, h'; simpl in H1; try discriminate; auto.
Qed.

Lemma gateR_app env more g : (forall a, In a (gate_args g) -> (a < length env)%nat) -> gateR (env ++ more) g = gateR env g.
Proof.
  intro H. transitivity (gateR env (rename_gate (fun a => a) g)); [|rewrite rename_gate_id; auto].
  apply gate_rename. intros a Ha. apply app_nth1, H, Ha.
Qed.
End Gates.

(* {1 What is known of a slot} *)

Section Direction.
Variables ex log root : R -> R.
Hypothesis laws : elementary ex log root.
Variables (n : nat) (w d : list Q).
Notation A := (arc n [d]).
Notation beside := (beside n (real w) A).
Notation W := (real w).

(* Differentiable near w, with a gradient that is continuous there. *)
Definition near f (f' : pt -> pt) := exists r, 0 < r /\ forall y, N n (sub y W) < r -> diff_at n f y (f' y) /\
  forall i, (i < n)%nat -> cont n (fun z => f' z i) y.
(* A smooth function, its value at w and its gradient there; where these are, and where it tends from w along d. *)
Record smooth (f : pt -> R) (f' : pt -> pt) (m : moves) (x : R) (g : pt) : Prop := {
  smooth_near : near f f';
  smooth_at : f W = x;
  smooth_in : inside (fst (fst m)) x;
  smooth_grad : forall i, (i < n)%nat -> f' W i = g i;
  smooth_along : inside (snd (fst m)) (dot n (f' W) (real d));
  smooth_still : snd m = true -> forall y, f y = x }.

Lemma near_const c : near (fun _ => c) (fun _ _ => 0).
Proof. exists 1. split; [lra|]. intros. split; intros; auto using diff_const, cont_const. Qed.

Lemma near_add f f' g g' : near f f' -> near g g' -> near (fun y => f y + g y) (fun y i => f' y i + g' y i).
Proof.
  intros [r [R1 R2]] [s [S1 S2]]. exists (Rmin r s). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l r s). pose proof (Rmin_r r s). destruct (R2 y ltac:(lra)), (S2 y ltac:(lra)).
  split; intros; [apply diff_add|apply cont_add]; auto.
Qed.

Lemma near_mul f f' g g' : near f f' -> near g g' -> near (fun y => f y * g y) (fun y i => g y * f' y i + f y * g' y i).
Proof.
  intros [r [R1 R2]] [s [S1 S2]]. exists (Rmin r s). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l r s). pose proof (Rmin_r r s). destruct (R2 y ltac:(lra)), (S2 y ltac:(lra)).
  split; intros; [apply diff_mul; auto|]. apply cont_add; apply cont_mul; auto; eapply diff_cont; eauto.
Qed.

Lemma near_scale c f f' : near f f' -> near (fun y => c * f y) (fun y i => c * f' y i).
Proof.
  intros [r [R1 R2]]. exists r. split; auto. intros y Hy. destruct (R2 y Hy). split; [|intros; apply cont_mul;
    auto using cont_const].
  eapply diff_ext_g; [|apply (diff_mul n (fun _ => c) f y (fun _ => 0) (f' y)); auto using diff_const]. intros; simpl; ring.
Qed.

Lemma near_fn f f' h : near f f' -> in_domain h (f W) ->
  near (fun y => applied ex log root h (f y)) (fun y i => fn_slope ex root h (f y) * f' y i).
Proof.
  intros [r [R1 R2]] D. assert (C : cont n f W) by (apply (diff_cont n f W (f' W)), R2; rewrite N_self; auto).
  assert (In : exists s, 0 < s /\ forall y, N n (sub y W) < s -> in_domain h (f y)).
  { assert (Apart : f W <> 0 -> exists s, 0 < s /\ forall y, N n (sub y W) < s -> f y <> 0).
    { intro Z. destruct (Rlt_dec 0 (f W)) as [P|P].
      - destruct (cont_sign n f W C P) as [s [S1 S2]]. exists s. split; auto. intros y Hy. specialize (S2 y Hy). lra.
      - destruct (cont_sign n (fun y => 0 - f y) W) as [s [S1 S2]]; [|lra|].
        + apply (cont_moved n 1 f); auto. intro y. right. rewrite Rmult_1_l, <- (Rabs_Ropp (f y - f W)). f_equal. ring.
        + exists s. split; auto. intros y Hy. specialize (S2 y Hy). lra. }
    destruct h; simpl in *; try (exists 1; split; [lra|intros; exact I]); try apply (cont_sign n f W C D); apply Apart, D. }
  destruct In as [s [S1 S2]]. exists (Rmin r s). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l r s). pose proof (Rmin_r r s). destruct (R2 y ltac:(lra)) as [Y1 Y2]. specialize (S2 y ltac:(lra)).
  split; [apply (diff_compose n f y (f' y)); auto; apply (applied_derivable ex log root laws), S2|].
  intros i Hi. apply cont_mul; auto. apply (slope_cont ex log root laws); auto. apply (diff_cont n f y (f' y) Y1).
Qed.

Lemma smooth_const q : smooth (fun _ => Q2R q) (fun _ _ => 0) (Exactly q, Exactly 0, true) (Q2R q) (fun _ => 0).
Proof. split; simpl; auto using near_const. rewrite dot_zero_l, Q2R_0. auto. Qed.

Lemma smooth_add f f' m x g h h' m' x' g' : smooth f f' m x g -> smooth h h' m' x' g' ->
  smooth (fun y => f y + h y) (fun y i => f' y i + h' y i) (add_moves m m') (x + x') (fun i => g i + g' i).
Proof.
  destruct m as [[v t] s], m' as [[v' t'] s']. intros [A0 A1 A2 A3 A4 A5] [B0 B1 B2 B3 B4 B5]. simpl in *. split; simpl.
  - apply near_add; auto.
  - rewrite A1, B1. auto.
  - apply radd_at; auto.
  - intros i Hi. rewrite A3, B3; auto.
  - rewrite dot_add_l. apply radd_at; auto.
  - rewrite andb_true_iff. intros [S S'] y. rewrite (A5 S), (B5 S'). auto.
Qed.

Lemma smooth_scale q f f' m x g : smooth f f' m x g ->
  smooth (fun y => Q2R q * f y) (fun y i => Q2R q * f' y i) (scale_moves q m) (Q2R q * x) (fun i => Q2R q * g i).
Proof.
  destruct m as [[v t] s]. intros [A0 A1 A2 A3 A4 A5]. simpl in *. split; simpl.
  - apply near_scale; auto.
  - rewrite A1. auto.
  - apply rscale_at; auto.
  - intros i Hi. rewrite A3; auto.
  - rewrite dot_scale_l. apply rscale_at; auto.
  - rewrite orb_true_iff. intros [S|S] y; [rewrite (A5 S); auto|rewrite (qz_true _ S); ring].
Qed.

Lemma zero_at r x : inside r x -> zero r = true -> x = 0.
Proof. destruct r; simpl; try discriminate. intros H Z. rewrite H. apply qz_true, Z. Qed.

Lemma smooth_mul f f' m x g h h' m' x' g' : smooth f f' m x g -> smooth h h' m' x' g' ->
  smooth (fun y => f y * h y) (fun y i => h y * f' y i + f y * h' y i) (mul_moves m m') (x * x') (fun i => x' * g i + x * g' i).
Proof.
  destruct m as [[v t] s], m' as [[v' t'] s']. intros [A0 A1 A2 A3 A4 A5] [B0 B1 B2 B3 B4 B5]. simpl in *. split; simpl.
  - apply near_mul; auto.
  - rewrite A1, B1. auto.
  - apply rmul_at; auto.
  - intros i Hi. rewrite A1, B1, A3, B3; auto.
  - rewrite (dot_add_l n (fun i => h W * f' W i) (fun i => f W * h' W i)), !dot_scale_l, A1, B1.
    apply radd_at; apply rmul_at; auto.
  - rewrite !orb_true_iff, !andb_true_iff. intros [[[S S']|[S Z]]|[S Z]] y.
    + rewrite (A5 S), (B5 S'). auto.
    + rewrite (A5 S), (zero_at _ _ A2 Z). ring.
    + rewrite (B5 S), (zero_at _ _ B2 Z). ring.
Qed.

Lemma smooth_fn h f f' x g z : smooth f f' (moves_at z) x g -> h <> Above -> forall m, fn_moves h z = Some m -> in_domain h x /\
  smooth (fun y => applied ex log root h (f y)) (fun y i => fn_slope ex root h (f y) * f' y i) m (applied ex log root h x)
    (fun i => fn_slope ex root h x * g i).
Proof.
  intros [A0 A1 A2 A3 A4 A5] Other m E. simpl in A2, A4, A5. pose proof laws as (Ex & Sum & Low & Rt & Lg).
  assert (G : in_domain h x /\ inside (fst (fst m)) (applied ex log root h x) /\ snd m = still z /\
    inside (snd (fst m)) (fn_slope ex root h x * dot n (f' W) (real d))).
  { destruct h; simpl in E.
    - destruct (rexp (at_w z)) as [v|] eqn:V; inversion E; subst. pose proof (rexp_at ex log _ _ _ Ex Sum Low A2 V) as I.
      simpl. repeat split; auto. apply rmul_at; auto.
    - destruct (rroot (at_w z)) as [v|] eqn:V; try discriminate. destruct (rroot_at root _ _ _ Rt A2 V) as [P I].
      destruct (rinverse (rscale 2 v)) as [i|] eqn:J; inversion E; subst.
      destruct (rinverse_at _ _ _ (rscale_at 2 v _ I) J) as [_ K]. simpl. repeat split; auto. apply rmul_at; auto.
      replace 2 with (Q2R 2) by (unfold Q2R; simpl; lra). exact K.
    - destruct (rinverse (at_w z)) as [v|] eqn:V; inversion E; subst. destruct (rinverse_at _ _ _ A2 V) as [P I].
      simpl. repeat split; auto. apply rmul_at; auto. replace (- (/ f W * / f W)) with (Q2R (-1) * (/ f W * / f W))
        by (rewrite Q2R_m1; ring). apply rscale_at, rmul_at; auto.
    - destruct (rlog (at_w z)) as [v|] eqn:V; try discriminate. destruct (rinverse (at_w z)) as [i|] eqn:J; inversion E; subst.
      destruct (rlog_at ex log _ _ _ Ex Sum Low Lg A2 V) as [P I]. destruct (rinverse_at _ _ _ A2 J) as [_ K].
      simpl. repeat split; auto. apply rmul_at; auto.
    - destruct (rexp (rbelow (at_w z))) as [v|] eqn:V; inversion E; subst.
      pose proof (rexp_at ex log _ _ _ Ex Sum Low (rbelow_at _ _ A2) V) as I. destruct Ex as (E0 & _).
      assert (Minus : inside (Exactly (-1)) (-1)) by (simpl; rewrite Q2R_m1; auto).
      pose proof (radd_at _ _ _ _ (rabove_at _ _ A2) (radd_at _ _ _ _ I Minus)) as J. simpl. repeat split; auto.
      + replace (if Rlt_dec (f W) 0 then ex (f W) - 1 else f W) with (Rmax (f W) 0 + (ex (Rmin (f W) 0) + -1)); auto.
        destruct (Rlt_dec (f W) 0); [rewrite Rmax_right, Rmin_left by lra; ring|].
        rewrite Rmax_left, Rmin_right, E0 by lra. ring.
      + apply rmul_at; auto. replace (if Rlt_dec (f W) 0 then ex (f W) else 1) with (ex (Rmin (f W) 0)); auto.
        destruct (Rlt_dec (f W) 0); [rewrite Rmin_left by lra; auto|rewrite Rmin_right by lra; auto].
    - inversion E; subst. pose proof (rabove_at _ _ A2) as I. simpl. repeat split; auto.
      + replace (if Rlt_dec (f W) 0 then 0 else f W * f W) with (Rmax (f W) 0 * Rmax (f W) 0); [apply rmul_at; auto|].
        destruct (Rlt_dec (f W) 0); [rewrite Rmax_right by lra; ring|rewrite Rmax_left by lra; auto].
      + apply rmul_at; auto. replace (if Rlt_dec (f W) 0 then 0 else 2 * f W) with (Q2R 2 * Rmax (f W) 0);
        [apply rscale_at, I|].
        replace (Q2R 2) with 2 by (unfold Q2R; simpl; lra).
        destruct (Rlt_dec (f W) 0); [rewrite Rmax_right by lra; ring|rewrite Rmax_left by lra; auto].
    - contradiction. }
  destruct G as (D & I & S & T). split; auto. split; auto.
  - apply near_fn; auto. rewrite A1. auto.
  - rewrite A1. auto.
  - intros i Hi. rewrite A1, A3; auto.
  - rewrite dot_scale_l, A1. auto.
  - rewrite S. intros St y. rewrite (A5 St). auto.
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

Lemma near_cont f f' : near f f' -> cont n f W.
Proof. intros [r [R1 R2]]. apply (diff_cont n f W (f' W)), R2. rewrite N_self. auto. Qed.

Lemma positive_at f f' m x g : smooth f f' m x g -> 0 < x -> beside (fun y => 0 < f y).
Proof.
  intros [A0 A1 _ _ _ _] Hv. destruct (cont_sign n f W (near_cont f f' A0)) as [r [E1 E2]]; [rewrite A1; auto|].
  apply (beside_imp n W A _ _ (beside_w r E1)). auto.
Qed.

Lemma positive_along f f' m x g : smooth f f' m x g -> x = 0 -> 0 < dot n (f' W) (real d) -> beside (fun y => 0 < f y).
Proof.
  intros [[r [R1 R2]] A1 _ _ _ _] Hv Ht. set (t := dot n (f' W) (real d)) in *. pose proof (N_nonneg n (real d)) as Nd.
  destruct (R2 W ltac:(rewrite N_self; auto)) as [D _].
  destruct (D (t / (2 * (N n (real d) + 1)))) as [a [E1 E2]]; [apply Rdiv_lt_0_compat; lra|].
  destruct (arc_near n W A from_w (Rmin a r)) as [T [T1 T2]]; [apply Rmin_glb_lt; auto|]. exists T. split; auto.
  intros u Hu. specialize (T2 u Hu). pose proof (Rmin_l a r). pose proof (Rmin_r a r).
  destruct (R2 (arc_at W A u) ltac:(lra)) as [Du _].
  apply (cont_sign n f (arc_at W A u) (diff_cont n f _ _ Du)). specialize (E2 _ ltac:(apply Rlt_le_trans with (1 := T2); auto)).
  assert (Sub : forall i, (i < n)%nat -> sub (arc_at W A u) W i = sub (line W u (real d)) W i).
  { intros i Hi. unfold sub. rewrite arc_line by auto. auto. }
  rewrite (dot_ext n (f' W) (f' W) _ _ (fun i Hi => eq_refl) Sub), dot_line in E2. fold t in E2.
  rewrite (N_ext n _ _ Sub), N_line, (Rabs_right u), A1, Hv in E2 by lra.
  assert (K : t / (2 * (N n (real d) + 1)) * (u * N n (real d)) <= t / 2 * u).
  { replace (t / 2 * u) with (t / (2 * (N n (real d) + 1)) * (u * (N n (real d) + 1))) by (field; lra).
    apply Rmult_le_compat_l; [left; apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_l; lra. }
  assert (P : 0 < u * t) by (apply Rmult_lt_0_compat; lra).
  pose proof (Rle_abs (- (f (arc_at W A u) - 0 - u * t))) as L. rewrite Rabs_Ropp in L. lra.
Qed.

(* {1 Kinks} *)

Lemma kink_below a b z : z < 0 -> kinkR a b z = Q2R a * z.
Proof. unfold kinkR. intro. destruct (Rlt_dec z 0); lra. Qed.
Lemma kink_above a b z : 0 < z -> kinkR a b z = Q2R b * z.
Proof. unfold kinkR. intro. destruct (Rlt_dec z 0); lra. Qed.

Lemma negative f f' m x g : smooth f f' m x g -> smooth (fun y => Q2R (-1) * f y) (fun y i => Q2R (-1) * f' y i)
  (scale_moves (-1) m) (Q2R (-1) * x) (fun i => Q2R (-1) * g i).
Proof. apply smooth_scale. Qed.

Lemma kink_beside a b p f f' x v g q : smooth f f' (moves_at x) v g -> kink_slope a b p x = Some q ->
  beside (fun y => kinkR a b (f y) = Q2R q * f y) /\ Q2R q = slopeR a b p v /\ kinkR a b v = Q2R q * v.
Proof.
  intros S H. pose proof (negative _ _ _ _ _ S) as S'. pose proof (smooth_in _ _ _ _ _ S) as I.
  pose proof (smooth_along _ _ _ _ _ S) as J. simpl in I, J. unfold kink_slope in H.
  destruct (rsgn (at_w x)) as [c|] eqn:V; try discriminate. pose proof (rsgn_at _ _ _ I V) as Sg. destruct c.
  - destruct (still x || _) eqn:St; inversion H; subst q. split; [|split].
    + apply orb_true_iff in St as [St|St].
      * apply beside_all. intro y. rewrite (smooth_still _ _ _ _ _ S St), Sg. unfold kinkR. destruct (Rlt_dec 0 0); lra.
      * destruct (rsgn (along_d x)) as [c|] eqn:T; try discriminate. pose proof (rsgn_at _ _ _ J T) as Lg.
        destruct c; try discriminate; apply Qeq_bool_R in St.
        -- apply (beside_imp n W A (fun y => 0 < Q2R (-1) * f y)).
           ++ apply (positive_along _ _ _ _ _ S'); [rewrite Sg; ring|]. rewrite dot_scale_l, Q2R_m1. lra.
           ++ intros y Hy. rewrite Q2R_m1 in Hy. rewrite kink_below, St; lra.
        -- apply (beside_imp n W A (fun y => 0 < f y)); [apply (positive_along _ _ _ _ _ S); auto|].
           intros y Hy. rewrite kink_above, St; auto.
    + unfold slopeR. rewrite Sg. destruct (Rlt_dec 0 0); [lra|auto].
    + unfold kinkR. rewrite Sg. destruct (Rlt_dec 0 0); lra.
  - inversion H; subst q. split; [|split].
    + apply (beside_imp n W A (fun y => 0 < Q2R (-1) * f y)).
      * apply (positive_at _ _ _ _ _ S'). rewrite Q2R_m1. lra.
      * intros y Hy. rewrite Q2R_m1 in Hy. apply kink_below. lra.
    + unfold slopeR. destruct (Rlt_dec v 0); [auto|lra].
    + apply kink_below; auto.
  - inversion H; subst q. split; [|split].
    + apply (beside_imp n W A (fun y => 0 < f y)); [apply (positive_at _ _ _ _ _ S); auto|].
      intros y Hy. apply kink_above; auto.
    + unfold slopeR. destruct (Rlt_dec v 0); [lra|]. destruct (Rlt_dec 0 v); [auto|lra].
    + apply kink_above; auto.
Qed.

(* {1 The invariant} *)

Notation gateR := (gateR ex log root).

(* Of the slot k, given the slots' numbers at y, and AD's. *)
Record knows (env : pt -> list R) (G : list dualR) c k x : Prop := {
  knows_slot : (k < c)%nat;
  knows_smooth : exists f f', smooth f f' (moves_at x) (nth k (env W) 0) (rowR G k) /\
    beside (fun y => nth k (env y) 0 = f y);
  knows_cont : cont n (fun y => nth k (env y) 0) W;
  knows_same : (same_as x < c)%nat /\ forall y, nth k (env y) 0 = nth (same_as x) (env y) 0;
  knows_made : (forall a, In a (gate_args (made x)) -> (a < c)%nat) /\ forall y, nth k (env y) 0 = gateR (env y) (made x) }.
Definition holds_for (env : pt -> list R) G c T := (forall y, length (env y) = c) /\ (length G = c /\ map fst G = env W) /\
  forall k x, find k T = Some x -> knows env G c k x.

Lemma knows_later env G c k x v g : (forall y, length (env y) = c) -> length G = c -> knows env G c k x ->
  knows (fun y => env y ++ [v y]) (G ++ [g]) (S c) k x.
Proof.
  intros L1 L2 [K1 (f & f' & K2 & K3) K4 [K5 K6] [K7 K8]]. split; auto.
  - exists f, f'. unfold rowR. rewrite !app_nth1 by (rewrite ?L1; lia). split; auto. apply (beside_imp n W A _ _ K3).
    intros y Hy. rewrite app_nth1; auto. rewrite L1; auto.
  - intros e He. destruct (K4 e He) as [r [R1 R2]]. exists r. split; auto. intros y Hy. rewrite !app_nth1 by (rewrite L1;
    lia). auto.
  - split; [lia|]. intro y. rewrite !app_nth1 by (rewrite L1; lia). auto.
  - split; [intros a Ha; specialize (K7 a Ha); lia|]. intro y. rewrite app_nth1 by (rewrite L1; lia).
    rewrite gateR_app by (intros a Ha; rewrite L1; auto). auto.
Qed.

Section Step.
Variables (env : pt -> list R) (G : list dualR) (c : nat) (T : store).
Hypothesis Hold : holds_for env G c T.
Notation at_ k y := (nth k (env y) 0).

Lemma val_env k : valR G k = at_ k W.
Proof.
  destruct Hold as (_ & [_ E] & _). rewrite <- E. unfold valR. change 0 with (fst dualR0). rewrite map_nth. auto.
Qed.

Lemma smooth_of k x : find k T = Some x -> exists f f', smooth f f' (moves_at x) (at_ k W) (rowR G k) /\
  beside (fun y => at_ k y = f y).
Proof. intro F. destruct Hold as (_ & _ & H). apply (knows_smooth _ _ _ _ _ (H k x F)). Qed.

Definition follows (m : moves) (x : R) (g : pt) (h : pt -> R) :=
  exists f f', smooth f f' m x g /\ beside (fun y => h y = f y).

Lemma lin_follows c0 l : forall m, lin_moves c0 l T = Some m ->
  follows m (linR c0 l (env W)) (rows (weighed l) G) (fun y => linR c0 l (env y)).
Proof.
  induction l as [|[q k] l IH]; intros m H; cbn [lin_moves] in H.
  - inversion H; subst. exists (fun _ => Q2R c0), (fun _ _ => 0). split; [apply smooth_const|apply beside_all; auto].
  - destruct (find k T) as [x|] eqn:F; try discriminate. destruct (lin_moves c0 l T) as [m'|]; try discriminate.
    assert (m = add_moves (scale_moves q (moves_at x)) m') by congruence. subst m.
    destruct (IH _ eq_refl) as (f & f' & S & B). destruct (smooth_of k x F) as (h & h' & S' & B').
    exists (fun y => Q2R q * h y + f y), (fun y i => Q2R q * h' y i + f' y i). split.
    + exact (smooth_add _ _ _ _ _ _ _ _ _ _ (smooth_scale q _ _ _ _ _ S') S).
    + apply (beside_imp n W A _ _ (beside_and n W A _ _ B B')). intros y [Y1 Y2]. simpl. rewrite Y1, Y2. auto.
Qed.

Lemma mul_follows i j x y : find i T = Some x -> find j T = Some y -> follows (mul_moves (moves_at x) (moves_at y))
  (at_ i W * at_ j W) (fun k => valR G j * rowR G i k + valR G i * rowR G j k) (fun z => at_ i z * at_ j z).
Proof.
  intros F F'. destruct (smooth_of i x F) as (f & f' & S & B). destruct (smooth_of j y F') as (h & h' & S' & B').
  rewrite !val_env. exists (fun z => f z * h z), (fun z i => h z * f' z i + f z * h' z i). split.
  - apply smooth_mul; auto.
  - apply (beside_imp n W A _ _ (beside_and n W A _ _ B B')). intros z [Y1 Y2]. rewrite Y1, Y2. auto.
Qed.

Lemma dot_follows l : forall m, dot_moves l T = Some m -> follows m (dotR l (env W)) (fun k => fold_right (fun t s =>
    Q2R (fst t) * (valR G (snd (snd t)) * rowR G (fst (snd t)) k + valR G (fst (snd t)) * rowR G (snd (snd t)) k) + s) 0 l)
  (fun y => dotR l (env y)).
Proof.
  induction l as [|[q [i j]] l IH]; intros m H.
  - simpl in H. inversion H; subst. pose proof (smooth_const 0) as K. rewrite Q2R_0 in K. exists (fun _ => 0), (fun _ _ => 0).
    split; [exact K|apply beside_all; auto].
  - cbn [dot_moves] in H. destruct (find i T) as [x|] eqn:F; try discriminate. destruct (find j T) as [y|] eqn:F';
    try discriminate.
    destruct (dot_moves l T) as [m'|]; try discriminate.
    assert (E : m = add_moves (scale_moves q (mul_moves (moves_at x) (moves_at y))) m') by congruence. subst m.
    destruct (IH _ eq_refl) as (f & f' & S & B). destruct (mul_follows i j x y F F') as (h & h' & S' & B').
    exists (fun y => Q2R q * h y + f y), (fun y i => Q2R q * h' y i + f' y i). split.
    + exact (smooth_add _ _ _ _ _ _ _ _ _ _ (smooth_scale q _ _ _ _ _ S') S).
    + apply (beside_imp n W A _ _ (beside_and n W A _ _ B B')). intros z [Y1 Y2]. simpl. rewrite Y1, Y2. auto.
Qed.

Lemma kink_follows i a b p x q : find i T = Some x -> kink_slope a b p x = Some q ->
  follows (scale_moves q (moves_at x)) (kinkR a b (at_ i W)) (fun k => slopeR a b p (valR G i) * rowR G i k)
    (fun z => kinkR a b (at_ i z)).
Proof.
  intros F H. destruct (smooth_of i x F) as (f & f' & S & B). rewrite val_env.
  destruct (kink_beside a b p f f' x _ _ q S H) as (K1 & K2 & K3). rewrite K3, <- K2.
  exists (fun y => Q2R q * f y), (fun y i => Q2R q * f' y i). split; [apply smooth_scale, S|].
  apply (beside_imp n W A _ _ (beside_and n W A _ _ B K1)). intros z [Y1 Y2]. rewrite Y1. auto.
Qed.

(* {1 The largest} *)

Lemma finds_all l : forall xs, finds l T = Some xs -> Forall2 (fun k x => find k T = Some x) l xs.
Proof.
  induction l as [|k l IH]; simpl; intros xs H; [inversion H; constructor|].
  destruct (find k T) as [x|] eqn:F; try discriminate. destruct (finds l T) as [ys|]; try discriminate.
  inversion H; subst. constructor; auto.
Qed.

Lemma same_values i j x y : find i T = Some x -> find j T = Some y -> same x y = true -> forall z, at_ i z = at_ j z.
Proof.
  intros F F' H z. destruct Hold as (_ & _ & K). apply Nat.eqb_eq in H.
  rewrite (proj2 (knows_same _ _ _ _ _ (K i x F)) z), (proj2 (knows_same _ _ _ _ _ (K j y F')) z), H. auto.
Qed.

Lemma certain_at i j x y o : find i T = Some x -> find j T = Some y -> certain x y = Some o ->
  match o with Lt => at_ i W < at_ j W | Eq => at_ i W = at_ j W | Gt => at_ j W < at_ i W end.
Proof.
  intros F F' H. unfold certain in H. destruct (same x y) eqn:S.
  - inversion H; subst. apply (same_values i j x y F F' S).
  - destruct (smooth_of i x F) as (f & f' & [_ _ I _ _ _] & _). destruct (smooth_of j y F') as (h & h' & [_ _ I' _ _ _] & _).
    apply (rcompare_at _ _ _ _ _ I I' H).
Qed.

Lemma below_at i j x y : find i T = Some x -> find j T = Some y -> below x y = true -> at_ j W < at_ i W.
Proof.
  intros F F' H. unfold below in H. destruct (certain y x) as [[| |]|] eqn:C; try discriminate.
  apply (certain_at j i y x Lt F' F C).
Qed.

Lemma loses_at i j x y : find i T = Some x -> find j T = Some y -> loses x y = true -> at_ j W <= at_ i W.
Proof.
  intros F F' H. unfold loses in H. destruct (certain y x) as [[| |]|] eqn:C; try discriminate;
    pose proof (certain_at j i y x _ F' F C) as K; simpl in K; lra.
Qed.

(* What loses to x is at most x beside the direction. *)
Lemma loses_beside i j x y : find i T = Some x -> find j T = Some y -> loses x y = true ->
  beside (fun z => at_ j z <= at_ i z).
Proof.
  intros F F' H. destruct (smooth_of i x F) as (f & f' & S & B). destruct (smooth_of j y F') as (h & h' & S' & B').
  pose proof (smooth_add _ _ _ _ _ _ _ _ _ _ (negative _ _ _ _ _ S') S) as D.
  assert (Less : beside (fun z => 0 <= Q2R (-1) * h z + f z) -> beside (fun z => at_ j z <= at_ i z)).
  { intro L. apply (beside_imp n W A _ _ (beside_and n W A _ _ L (beside_and n W A _ _ B B'))).
    intros z (Z1 & Z2 & Z3). rewrite Z2, Z3. rewrite Q2R_m1 in Z1. lra. }
  assert (Pos : forall P : pt -> R, beside (fun z => 0 < P z) -> beside (fun z => 0 <= P z)).
  { intros P L. apply (beside_imp n W A _ _ L). intros; lra. }
  unfold loses in H. destruct (certain y x) as [[| |]|] eqn:C; try discriminate;
    pose proof (certain_at j i y x _ F' F C) as K; simpl in K.
  - apply orb_true_iff in H as [H|H]; [apply orb_true_iff in H as [H|H]|].
    + apply beside_all. intro z. rewrite (same_values i j x y F F' H z). lra.
    + apply andb_true_iff in H as [H1 H2]. apply Less, beside_all. intro z.
      rewrite (smooth_still _ _ _ _ _ S H2), (smooth_still _ _ _ _ _ S' H1), K, Q2R_m1. lra.
    + destruct (rcompare (along_d y) (along_d x)) as [[| |]|] eqn:C'; try discriminate.
      pose proof (rcompare_at _ _ _ _ _ (smooth_along _ _ _ _ _ S') (smooth_along _ _ _ _ _ S) C') as L. simpl in L.
      apply Less, Pos, (positive_along _ _ _ _ _ D); [rewrite K, Q2R_m1; ring|].
      rewrite (dot_add_l n (fun i => Q2R (-1) * h' W i)), dot_scale_l, Q2R_m1. lra.
  - apply Less, Pos, (positive_at _ _ _ _ _ D). rewrite Q2R_m1. lra.
Qed.

Lemma all_lose i x l : find i T = Some x -> forall xs, Forall2 (fun k x => find k T = Some x) l xs -> forallb (loses x) xs =
  true ->
  (forall v, In v (map (fun k => at_ k W) l) -> v <= at_ i W) /\
  beside (fun z => forall v, In v (map (fun k => at_ k z) l) -> v <= at_ i z).
Proof.
  intro F. induction 1 as [|k y l ys F' H IH]; simpl; intro L; [split; [intros v []|apply beside_all; intros y v []]|].
  apply andb_true_iff in L as [L1 L2]. destruct (IH L2) as [I1 I2]. split.
  - intros v [V|V]; [subst; apply (loses_at i k x y F F' L1)|auto].
  - apply (beside_imp n W A _ _ (beside_and n W A _ _ (loses_beside i k x y F F' L1) I2)).
    intros z [Z1 Z2] v [V|V]; subst; auto.
Qed.

Lemma kth_of_largest l x : In x l -> (forall z, In z l -> z <= x) -> kthR 1 l = x.
Proof.
  intros I H. apply is_kth_kthR. split; [rewrite (above_none x l H); lia|]. clear H.
  induction l as [|y l IH]; [contradiction|]. change (y :: l) with ([y] ++ l). rewrite from_app.
  destruct I as [I|I]; [subst; unfold from at 1; simpl; destruct (Rlt_dec x x); [lra|simpl; lia]|].
  specialize (IH I). lia.
Qed.

Lemma split_at (xs : list info) : forall c x, nth_error xs c = Some x -> xs = firstn c xs ++ x :: skipn (S c) xs.
Proof.
  induction xs as [|y xs IH]; intros [|c'] x H; simpl in *; try discriminate; [inversion H; auto|]. f_equal. apply IH, H.
Qed.

Lemma below_loses x l : forallb (below x) l = true -> forallb (loses x) l = true.
Proof.
  rewrite !forallb_forall. intros H y Hy. specialize (H y Hy). unfold below in H. unfold loses.
  destruct (certain y x) as [[| |]|]; try discriminate; auto.
Qed.

Lemma loses_itself x : loses x x = true.
Proof. unfold loses, certain, same. rewrite Nat.eqb_refl. auto. Qed.

(* What is below v is not tied. *)
Lemma none_tied i x l xs v : find i T = Some x -> at_ i W = v -> Forall2 (fun k x => find k T = Some x) l xs ->
  forallb (below x) xs = true -> filter (fun k => if Req_EM_T (valR G k) v then true else false) l = [].
Proof.
  intros F V. induction 1 as [|k y l ys F' H IH]; simpl; intro L; auto. apply andb_true_iff in L as [L1 L2].
  rewrite val_env. pose proof (below_at i k x y F F' L1). destruct (Req_EM_T (at_ k W) v); [lra|auto].
Qed.

Lemma no_share (l : list nat) b i : b = 0 -> fold_right (fun t s => fst t * rowR G (snd t) i + s) 0 (map (fun k => (b,
  k)) l) = 0.
Proof. intro H. induction l as [|k l IH]; simpl; auto. rewrite IH, H. ring. Qed.

(* Slots that are the same function have the same row: their gradients tend to one. *)
Lemma same_rows i j x y : find i T = Some x -> find j T = Some y -> same x y = true ->
  forall a, (a < n)%nat -> rowR G i a = rowR G j a.
Proof.
  intros F F' H a Ha. destruct (smooth_of i x F) as (f & f' & [[r [R1 R2]] _ _ S3 _ _] & [Tf [Tf1 Tf2]]).
  destruct (smooth_of j y F') as (h & h' & [[s [Q1 Q2]] _ _ S3' _ _] & [Th [Th1 Th2]]).
  rewrite <- (S3 a Ha), <- (S3' a Ha). apply cond_eq. intros e He.
  destruct (R2 W ltac:(rewrite N_self; auto)) as [_ C]. destruct (Q2 W ltac:(rewrite N_self; auto)) as [_ C'].
  destruct (C a Ha (e / 2) ltac:(lra)) as [c1 [C1 C2]]. destruct (C' a Ha (e / 2) ltac:(lra)) as [c3 [C3 C4]].
  destruct (arc_near n W A from_w (Rmin (Rmin r s) (Rmin c1 c3))) as [Tn [Tn1 Tn2]]; [repeat apply Rmin_glb_lt; auto|].
  set (t := Rmin Tn (Rmin Tf Th) / 2). assert (M : 0 < Rmin Tn (Rmin Tf Th)) by (repeat apply Rmin_glb_lt; auto).
  pose proof (Rmin_l Tn (Rmin Tf Th)). pose proof (Rmin_r Tn (Rmin Tf Th)). pose proof (Rmin_l Tf Th).
    pose proof (Rmin_r Tf Th).
  set (z := arc_at W A t). specialize (Tn2 t ltac:(unfold t; lra)). fold z in Tn2.
  pose proof (Rmin_l (Rmin r s) (Rmin c1 c3)). pose proof (Rmin_r (Rmin r s) (Rmin c1 c3)). pose proof (Rmin_l r s).
  pose proof (Rmin_r r s). pose proof (Rmin_l c1 c3). pose proof (Rmin_r c1 c3).
  destruct (Tf2 t ltac:(unfold t; lra)) as [b [B1 B2]]. destruct (Th2 t ltac:(unfold t; lra)) as [b' [B1' B2']].
    fold z in B2, B2'.
  assert (E : f' z a = h' z a).
  { apply (diff_unique n f z (f' z) (h' z)); auto; [apply R2; lra|].
    apply (diff_local n h f z (h' z) (Rmin b b')); [apply Rmin_glb_lt; auto| |apply Q2; lra].
    intros v Hv. pose proof (Rmin_l b b'). pose proof (Rmin_r b b'). rewrite <- B2, <- B2' by lra.
      apply (same_values i j x y F F' H). }
  specialize (C2 z ltac:(lra)). specialize (C4 z ltac:(lra)). rewrite E in C2. apply Rabs_def2 in C2, C4. apply Rabs_def1; lra.
Qed.

Lemma counted (l : list nat) v : (forall k, In k l -> valR G k <= v) -> length l =
  (length (filter (fun k => if Rlt_dec (valR G k) v then true else false) l) +
   length (filter (fun k => if Req_EM_T (valR G k) v then true else false) l))%nat.
Proof.
  induction l as [|k l IH]; simpl; intro H; auto. pose proof (H k (or_introl eq_refl)) as Hk.
  rewrite IH by (intros; apply H; auto). destruct (Rlt_dec (valR G k) v), (Req_EM_T (valR G k) v); simpl; try lra; lia.
Qed.

(* Where the largest are one function, it does not matter which AD takes, nor that it takes a mean. *)
Lemma alike_follows l u beta k x : In k l -> find k T = Some x -> forall xs, Forall2 (fun k x => find k T = Some x) l xs ->
  forallb (fun y => below x y || same x y) xs = true ->
  follows (moves_at x) (kthR 1 (map (fun k => at_ k W) l)) (rows (tie_rows u beta 1 l G) G) (fun z => kthR 1 (map (fun k =>
    at_ k z) l)).
Proof.
  intros Ik Fk xs All Co. assert (Lose : forallb (loses x) xs = true).
  { rewrite forallb_forall in *. intros y Hy. specialize (Co y Hy). apply orb_true_iff in Co as [Co|Co].
    - pose proof (below_loses x [y]) as L. cbn [forallb] in L. rewrite Co in L. specialize (L eq_refl).
      apply andb_true_iff in L. tauto.
    - unfold loses, certain. replace (same y x) with true by (unfold same in *; rewrite Nat.eqb_sym; auto). rewrite Co. auto. }
  destruct (all_lose k x l Fk xs All Lose) as [Max Beside].
  assert (I : forall z, In (at_ k z) (map (fun k => at_ k z) l)) by (intro z; apply (in_map (fun k => at_ k z)), Ik).
  assert (V : kthR 1 (map (fun k => at_ k W) l) = at_ k W) by (apply kth_of_largest; auto).
  assert (V' : kthR 1 (map (valR G) l) = at_ k W) by (rewrite <- V; f_equal; apply map_ext; intro; apply val_env).
  destruct (smooth_of k x Fk) as (f & f' & S & B). exists f, f'. split.
  2:{ apply (beside_imp n W A _ _ (beside_and n W A _ _ B Beside)). intros z [Z1 Z2]. rewrite <- Z1. apply kth_of_largest;
    auto. }
  rewrite V. destruct S as [A0 A1 A2 A3 A4 A5]. split; auto. intros i Hi. rewrite A3 by auto. unfold rows, tie_rows. rewrite V'.
  set (tied := filter (fun k0 => if Req_EM_T (valR G k0) (at_ k W) then true else false) l).
  assert (Own : In k tied) by (apply filter_In; split; auto; rewrite val_env; destruct (Req_EM_T _ _); auto).
  assert (Rows : forall j, In j tied -> rowR G j i = rowR G k i).
  { intros j Hj. apply filter_In in Hj as [H1 H2]. destruct (Req_EM_T (valR G j) (at_ k W)) as [E|]; [|discriminate H2].
    rewrite val_env in E. symmetry. assert (Y : exists y, find j T = Some y /\ In y xs).
    { clear -All H1. induction All as [|a y l ys Fa H IH]; [contradiction|]. destruct H1 as [H1|H1]; [subst; exists y; simpl;
      auto|].
      destruct (IH H1) as [z [Z1 Z2]]. exists z. simpl. auto. }
    destruct Y as [y [Y1 Y2]]. rewrite forallb_forall in Co. specialize (Co y Y2). apply orb_true_iff in Co as [Co|Co].
    - pose proof (below_at k j x y Fk Y1 Co). lra.
    - apply (same_rows k j x y Fk Y1 Co i Hi). }
  assert (P : In (pickedR u 1 l G tied) tied).
  { unfold pickedR. rewrite V'. assert (L : (0 < length tied)%nat) by (destruct tied; [contradiction|simpl; lia]). destruct u.
    - apply nth_In, L.
    - destruct tied as [|a t]; [contradiction|]. rewrite (app_removelast_last 0%nat) at 2 by discriminate. apply in_or_app.
      simpl. auto.
    - apply nth_In. pose proof (counted l (at_ k W)) as C. fold tied in C. rewrite C; [lia|].
      intros j Hj. rewrite val_env. apply Max, (in_map (fun k => at_ k W)), Hj. }
  cbn [fold_right fst snd]. rewrite (Rows _ P).
  assert (Sum : forall b t, (forall j, In j t -> rowR G j i = rowR G k i) ->
    fold_right (fun t s => fst t * rowR G (snd t) i + s) 0 (map (fun k0 => (b, k0)) t) = INR (length t) * b * rowR G k i).
  { intros b t. induction t as [|j t IH]; intro H; [simpl; ring|]. cbn [map fold_right length fst snd]. rewrite IH, S_INR, H.
    - ring.
    - simpl. auto.
    - intros; apply H; simpl; auto. }
  rewrite Sum by exact Rows. assert (0 < INR (length tied)) by (apply lt_0_INR; destruct tied; [contradiction|simpl; lia]).
  field. lra.
Qed.

Lemma largest_follows l u beta xs k' m : finds l T = Some xs -> largest_moves u beta xs = Some (k', m) ->
  follows m (kthR 1 (map (fun k => at_ k W) l)) (rows (tie_rows u beta 1 l G) G) (fun z => kthR 1 (map (fun k => at_ k z) l)).
Proof.
  intros Fs H. apply finds_all in Fs. unfold largest_moves in H. destruct xs as [|x0 xs']; [discriminate|].
  set (xs := x0 :: xs') in *. set (j := best u 1 0 x0 xs') in *. destruct (nth_error xs j) as [x|] eqn:Nx; try discriminate.
  destruct (forallb _ xs) eqn:Al.
  { assert (E : moves_at x = m) by congruence. subst m. pose proof (split_at xs j x Nx) as Sp. pose proof Fs as Fs'.
    rewrite Sp in Fs'. apply Forall2_app_inv_r in Fs' as (l1 & r & F1 & Fr & El). inversion Fr as [|k y l2 ys Fk F2]; subst.
    apply (alike_follows _ u beta k x) with (xs := xs); auto. apply in_or_app. simpl. auto. }
  destruct (Qeq_bool beta 0 && _) eqn:Co; try discriminate. assert (m = moves_at x) by congruence. subst m.
  apply andb_true_iff in Co as [Hb Co]. apply Qeq_bool_R in Hb. rewrite Q2R_0 in Hb.
  pose proof (split_at xs j x Nx) as Sp. set (b4 := firstn j xs) in *. set (af := skipn (S j) xs) in *. clearbody b4 af.
  assert (Lose : forallb (loses x) xs = true).
  { rewrite Sp, forallb_app. cbn [forallb]. rewrite loses_itself. destruct u; try discriminate;
      apply andb_true_iff in Co as [C1 C2]; rewrite ?C1, ?C2, ?(below_loses _ _ C1), ?(below_loses _ _ C2); auto. }
  rewrite Sp in Fs. apply Forall2_app_inv_r in Fs as (l1 & r & F1 & Fr & El). inversion Fr as [|k y l2 ys Fk F2]; subst.
  assert (All : Forall2 (fun k x => find k T = Some x) (l1 ++ k :: l2) xs) by (rewrite Sp; apply Forall2_app; auto).
  destruct (all_lose k x _ Fk xs All Lose) as [Max Beside].
  assert (I : forall z, In (at_ k z) (map (fun k => at_ k z) (l1 ++ k :: l2))).
  { intro z. apply (in_map (fun k => at_ k z)), in_or_app. simpl. auto. }
  assert (V : kthR 1 (map (fun k => at_ k W) (l1 ++ k :: l2)) = at_ k W) by (apply kth_of_largest; auto).
  assert (V' : kthR 1 (map (valR G) (l1 ++ k :: l2)) = at_ k W).
  { rewrite <- V. f_equal. apply map_ext. intro. apply val_env. }
  assert (Own : (if Req_EM_T (valR G k) (at_ k W) then true else false) = true).
  { rewrite val_env. destruct (Req_EM_T _ _); auto. }
  assert (P : pickedR u 1 (l1 ++ k :: l2) G
    (filter (fun k0 => if Req_EM_T (valR G k0) (at_ k W) then true else false) (l1 ++ k :: l2)) = k).
  { unfold pickedR. rewrite filter_app. cbn [filter]. rewrite Own. destruct u; try discriminate;
    apply andb_true_iff in Co as [C1 C2].
    - rewrite (none_tied k x l1 b4 _ Fk eq_refl F1 C1). auto.
    - rewrite (none_tied k x l2 af _ Fk eq_refl F2 C2). apply last_last. }
  destruct (smooth_of k x Fk) as (f & f' & S & B). exists f, f'. split.
  - rewrite V. destruct S as [A0 A1 A2 A3 A4 A5]. split; auto. intros i Hi. rewrite A3 by auto. unfold rows, tie_rows.
    rewrite V', P.
    cbn [fold_right fst snd]. rewrite no_share by (rewrite Hb; ring). rewrite Hb. ring.
  - apply (beside_imp n W A _ _ (beside_and n W A _ _ B Beside)). intros z [Z1 Z2]. rewrite <- Z1.
    apply kth_of_largest; auto.
Qed.

(* {1 What jumps, and is constant beside} *)

Lemma above_follows i x m : find i T = Some x -> fn_moves Above x = Some m -> at_ i W <> 0 /\
  follows m (applied ex log root Above (at_ i W)) (fun k => fn_slope ex root Above (valR G i) * rowR G i k)
    (fun z => applied ex log root Above (at_ i z)).
Proof.
  intros F H. destruct (smooth_of i x F) as (f & f' & S & B). pose proof (smooth_in _ _ _ _ _ S) as I. simpl in I.
  cbn [fn_moves] in H. destruct (rsgn (at_w x)) as [sg|] eqn:V; try discriminate. pose proof (rsgn_at _ _ _ I V) as Sg.
  assert (Row : forall q (f0 : pt -> R) g0, smooth f0 (fun _ _ => 0) m q g0 ->
    smooth f0 (fun _ _ => 0) m q (fun k => fn_slope ex root Above (valR G i) * rowR G i k)).
  { intros q f0 g0 [A0 A1 A2 A3 A4 A5]. split; auto. intros. simpl. ring. }
  destruct sg; try discriminate; (split; [lra|]); inversion H; subst m; cbn [applied].
  - pose proof (smooth_const 0) as K. rewrite Q2R_0 in K. exists (fun _ => 0), (fun _ _ => 0). split.
    + destruct (Rlt_dec 0 (at_ i W)); [lra|]. apply (Row _ _ _ K).
    + apply (beside_imp n W A _ _ (beside_and n W A _ _ B (positive_at _ _ _ _ _ (negative _ _ _ _ _ S) ltac:(rewrite Q2R_m1;
      lra)))).
      intros z [Z1 Z2]. rewrite Z1. rewrite Q2R_m1 in Z2. destruct (Rlt_dec 0 (f z)); [lra|auto].
  - pose proof (smooth_const 1) as K. rewrite Q2R_1 in K. exists (fun _ => 1), (fun _ _ => 0). split.
    + destruct (Rlt_dec 0 (at_ i W)); [|lra]. apply (Row _ _ _ K).
    + apply (beside_imp n W A _ _ (beside_and n W A _ _ B (positive_at _ _ _ _ _ S Sg))).
      intros z [Z1 Z2]. rewrite Z1. destruct (Rlt_dec 0 (f z)); [auto|lra].
Qed.

(* {1 One gate, then all} *)

Lemma step_follows g m : moves_of g T = Some m ->
  follows m (gateR (env W) g) (gate_row ex root G g) (fun z => gateR (env z) g) /\
  ((forall a, In a (gate_args g) -> cont n (fun y => at_ a y) W) -> cont n (fun y => gateR (env y) g) W).
Proof.
  intro H. destruct g as [[c0 l|i j|i a b p|r l u beta|t i j|t k l]|c0 l m0|h i]; cbn [moves_of] in H; try discriminate.
  - split; [apply lin_follows, H|]. intro C. simpl in *. clear H. induction l as [|[q k] l IH]; simpl; [apply cont_const|].
    apply cont_add; [apply cont_mul; [apply cont_const|apply C; simpl; auto]|apply IH; intros; apply C; simpl; auto].
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct (find j T) as [y|] eqn:F'; try discriminate.
    assert (E : m = mul_moves (moves_at x) (moves_at y)) by congruence. subst m.
    split; [apply mul_follows; auto|]. intro C. simpl in *. apply cont_mul; apply C; auto.
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct (kink_slope a b p x) as [q|] eqn:K; try discriminate.
    assert (E : m = scale_moves q (moves_at x)) by congruence. subst m.
    split; [apply (kink_follows i a b p x q F K)|]. intro C. simpl in *.
    apply (cont_moved n (Rabs (Q2R a) + Rabs (Q2R b)) (fun y => at_ i y)); [intro y; apply Lipschitz.kink_moves|apply C; auto].
  - destruct (Nat.eqb_spec r 1) as [R1|]; try discriminate. subst r. destruct (finds l T) as [xs|] eqn:F; try discriminate.
    destruct (largest_moves u beta xs) as [[k' m']|] eqn:L; try discriminate. assert (E : m' = m) by congruence. subst m'.
    split; [apply (largest_follows l u beta xs k' m F L)|]. intro C. simpl in *.
    pose proof (cont_largest n (map (fun k y => at_ k y) l) 1 W) as K.
    assert (Cs : forall f, In f (map (fun k y => at_ k y) l) -> cont n f W).
    { intros f Hf. apply in_map_iff in Hf as [k [E Hk]]. subst f. apply C, Hk. }
    specialize (K Cs). intros e He. destruct (K e He) as [r [R1 R2]]. exists r. split; auto. intros y Hy. specialize (R2 y Hy).
    rewrite !map_map in R2. exact R2.
  - destruct (lin_moves c0 l T) as [m1|] eqn:L; try discriminate. destruct (dot_moves m0 T) as [m2|] eqn:D; try discriminate.
    assert (E : m = add_moves m1 m2) by congruence. subst m.
    destruct (lin_follows c0 l m1 L) as (f & f' & S & B). destruct (dot_follows m0 m2 D) as (h & h' & S' & B'). split.
    + exists (fun y => f y + h y), (fun y i => f' y i + h' y i). split; [apply (smooth_add _ _ _ _ _ _ _ _ _ _ S S')|].
      apply (beside_imp n W A _ _ (beside_and n W A _ _ B B')). intros y [Y1 Y2]. simpl. rewrite Y1, Y2. auto.
    + intro C. simpl in *. clear -C. apply cont_add.
      * assert (C' : forall a, In a (map snd l) -> cont n (fun y => at_ a y) W) by (intros; apply C, in_or_app; auto). clear C.
        induction l as [|[q k] l IH]; simpl; [apply cont_const|].
        apply cont_add; [apply cont_mul; [apply cont_const|apply C'; simpl; auto]|apply IH; intros; apply C'; simpl; auto].
      * assert (C' : forall a, In a (flat_map (fun t : Q * (nat * nat) => [fst (snd t);
        snd (snd t)]) m0) -> cont n (fun y => at_ a y) W)
          by (intros; apply C, in_or_app; auto). clear C.
        induction m0 as [|[q [i j]] m0 IH]; simpl; [apply cont_const|]. apply cont_add.
        -- apply cont_mul; [apply cont_const|]. apply cont_mul; apply C'; simpl; auto.
        -- apply IH. intros; apply C'; simpl; auto.
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct (smooth_of i x F) as (f & f' & S & B).
    assert (Is : {h = Above} + {h <> Above}) by (destruct h; auto; right; discriminate).
    destruct Is as [Ab|Other].
    { subst h. destruct (above_follows i x m F H) as [D Fo]. split; auto. intro C. cbn [gate_args gateR] in *.
      apply (cont_behind n (fun y => at_ i y) (applied ex log root Above) W 0); [apply C; simpl; auto|].
      apply (Above_derivable ex log root), D. }
    destruct (smooth_fn h f f' _ _ x S Other m H) as [D S']. split.
    + exists (fun y => applied ex log root h (f y)), (fun y i => fn_slope ex root h (f y) * f' y i). split.
      * destruct S' as [A0 A1 A2 A3 A4 A5]. split; auto. intros k Hk. rewrite A3 by auto. simpl. rewrite val_env. auto.
      * apply (beside_imp n W A _ _ B). intros y Y. simpl. rewrite Y. auto.
    + intro C. simpl in *. apply (cont_behind n (fun y => at_ i y) _ W _ (C i (or_introl eq_refl)) (applied_derivable ex log
      root laws h _ D)).
Qed.

(* The slots that a gate has are there. *)
Lemma lin_found c0 l : forall m, lin_moves c0 l T = Some m -> forall a, In a (map snd l) -> exists x, find a T = Some x.
Proof.
  induction l as [|[q k] l IH]; cbn [lin_moves]; intros m H a Ha; [contradiction|].
  destruct (find k T) as [x|] eqn:F; try discriminate. destruct (lin_moves c0 l T) as [m'|] eqn:L; try discriminate.
  destruct Ha as [Ha|Ha]; [subst; eauto|apply (IH _ eq_refl a Ha)].
Qed.

Lemma dot_found l : forall m, dot_moves l T = Some m ->
  forall a, In a (flat_map (fun t : Q * (nat * nat) => [fst (snd t); snd (snd t)]) l) -> exists x, find a T = Some x.
Proof.
  induction l as [|[q [i j]] l IH]; cbn [dot_moves]; intros m H a Ha; [contradiction|].
  destruct (find i T) as [x|] eqn:F; try discriminate. destruct (find j T) as [y|] eqn:F'; try discriminate.
  destruct (dot_moves l T) as [m'|] eqn:L; try discriminate. simpl in Ha.
  destruct Ha as [Ha|[Ha|Ha]]; [subst; eauto|subst; eauto|apply (IH _ eq_refl a Ha)].
Qed.

Lemma args_found g m : moves_of g T = Some m -> forall a, In a (gate_args g) -> exists x, find a T = Some x.
Proof.
  destruct g as [[c0 l|i j|i a b p|r l u beta|t i j|t k l]|c0 l m0|h i]; cbn [moves_of gate_args args]; intros H z Hz;
    try discriminate.
  - apply (lin_found c0 l m H z Hz).
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct (find j T) as [y|] eqn:F'; try discriminate.
    destruct Hz as [Hz|[Hz|[]]]; subst; eauto.
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct Hz as [Hz|[]]; subst; eauto.
  - destruct (Nat.eqb r 1); try discriminate. destruct (finds l T) as [xs|] eqn:F; try discriminate. clear H.
    revert xs F z Hz. induction l as [|k l IH]; simpl; intros xs F z Hz; [contradiction|].
    destruct (find k T) as [x|] eqn:F'; try discriminate. destruct (finds l T) as [ys|] eqn:Fl; try discriminate.
    destruct Hz as [Hz|Hz]; [subst; eauto|apply (IH ys eq_refl z Hz)].
  - destruct (lin_moves c0 l T) as [m1|] eqn:L; try discriminate. destruct (dot_moves m0 T) as [m2|] eqn:D; try discriminate.
    apply in_app_or in Hz as [Hz|Hz]; [apply (lin_found c0 l m1 L z Hz)|apply (dot_found m0 m2 D z Hz)].
  - destruct (find i T) as [x|] eqn:F; try discriminate. destruct Hz as [Hz|[]]; subst; eauto.
Qed.

Lemma renamed_args (f : nat -> nat) g a : In a (gate_args (rename_gate f g)) -> exists b, In b (gate_args g) /\ a = f b.
Proof.
  destruct g as [o|c0 l m0|h i]; cbn [gate_args rename_gate]; intro H.
  - assert (E : args (rename f o) = map f (args o)) by (destruct o; simpl; auto; rewrite !map_map; auto).
    rewrite E in H. apply in_map_iff in H as [b [E1 E2]]. eauto.
  - apply in_app_or in H as [H|H].
    + rewrite map_map in H. simpl in H. apply in_map_iff in H as [t [E1 E2]]. exists (snd t). split;
      auto. apply in_or_app. left.
      apply in_map, E2.
    + induction m0 as [|[q [i j]] m0 IH]; simpl in H; [contradiction|]. destruct H as [H|[H|H]].
      * exists i. split; auto. apply in_or_app. right. simpl. auto.
      * exists j. split; auto. apply in_or_app. right. simpl. auto.
      * destruct (IH H) as [b [B1 B2]]. exists b. split; auto. apply in_or_app. apply in_app_or in B1 as [B1|B1]; simpl; auto.
  - destruct H as [H|[]]. exists i. simpl. auto.
Qed.

Lemma canonical_gate g m : moves_of g T = Some m -> (forall a, In a (gate_args (canonical g T)) -> (a < c)%nat) /\
  forall y, gateR (env y) g = gateR (env y) (canonical g T).
Proof.
  intro H. destruct Hold as (_ & _ & K). set (r := fun a => match find a T with Some x => same_as x | None => a end).
  assert (E : forall a, In a (gate_args g) -> (r a < c)%nat /\ forall y, nth a (env y) 0 = nth (r a) (env y) 0).
  { intros a Ha. destruct (args_found g m H a Ha) as [x Hx]. unfold r. rewrite Hx. apply (knows_same _ _ _ _ _ (K a x Hx)). }
  split.
  - intros a Ha. destruct (renamed_args r g a Ha) as [b [B1 B2]]. subst a. apply E, B1.
  - intro y. apply gate_rename. intros a Ha. apply E, Ha.
Qed.

Lemma info_follows g j x : info_of g j c T = Some x ->
  knows (fun y => env y ++ [gateR (env y) g]) (G ++ [stepG ex log root G g]) (S c) c x.
Proof.
  unfold info_of. destruct (moves_of g T) as [[[v t] s]|] eqn:M; try discriminate. intro H.
  destruct (step_follows g _ M) as [(f & f' & Sm & B) Co]. destruct (canonical_gate g _ M) as [C1 C2].
  destruct Hold as (L1 & [L2 L3] & K).
  assert (Here : forall y, nth c (env y ++ [gateR (env y) g]) 0 = gateR (env y) g).
  { intro y. rewrite <- (L1 y), app_nth2, Nat.sub_diag; auto. }
  assert (Hg : rowR (G ++ [stepG ex log root G g]) c = gate_row ex root G g).
  { unfold rowR. rewrite <- L2, app_nth2, Nat.sub_diag by auto. auto. }
  assert (Same : exists k, (match find j T with Some x => if same_gate (canonical g T) (made x) then same_as x else c
    | None => c end) = k /\ (k < S c)%nat /\ forall y, gateR (env y) g = nth k (env y ++ [gateR (env y) g]) 0).
  { eexists. split; [reflexivity|]. destruct (find j T) as [z|] eqn:Fj; [|split; [lia|intro y; rewrite Here; auto]].
    destruct (same_gate (canonical g T) (made z)) eqn:Si; [|split; [lia|intro y; rewrite Here; auto]].
    destruct (K j z Fj) as [K1 K2 K3 [K4 K5] [K6 K7]]. split; [lia|]. intro y.
    rewrite app_nth1 by (rewrite L1; auto). rewrite <- K5, K7, C2. apply same_gate_value, Si. }
  destruct Same as [k [E1 [E2 E3]]]. rewrite E1 in H. assert (Ex : Some {| at_w := v; along_d := t; still := s; same_as := k;
    made := canonical g T |} = Some x) by exact H. clear H. inversion Ex; subst x. clear Ex. split; simpl.
  - lia.
  - exists f, f'. rewrite Hg, Here. split; [exact Sm|]. apply (beside_imp n W A _ _ B). intros y Hy. rewrite Here. auto.
  - assert (Ca : cont n (fun y => gateR (env y) g) W).
    { apply Co. intros a Ha. destruct (args_found g _ M a Ha) as [z Hz]. apply (knows_cont _ _ _ _ _ (K a z Hz)). }
    intros e He. destruct (Ca e He) as [r [R1 R2]]. exists r. split; auto. intros y Hy. rewrite !Here. auto.
  - split; auto. intro y. rewrite Here. auto.
  - split; [intros a Ha; specialize (C1 a Ha); lia|]. intro y. rewrite Here, C2.
    symmetry. apply gateR_app. intros a Ha. rewrite L1. auto.
Qed.
End Step.

Notation runG := (runG ex log root).
Notation runA := (runA ex log root).

Lemma follow_direction_sound P : forall hints env G c T T', holds_for env G c T ->
  follow_direction P hints c T = Some T' ->
  holds_for (fun y => runG (env y) P) (runA G P) (c + length P) T'.
Proof.
  induction P as [|g P IH]; cbn [follow_direction Gate.runG Gate.runA length]; intros hints env G c T T' H F.
  - inversion F; subst. rewrite Nat.add_0_r. auto.
  - destruct (info_of g (hd c hints) c T) as [x|] eqn:I; try discriminate. rewrite Nat.add_succ_r, <- Nat.add_succ_l.
    apply (IH (tl hints) (fun y => env y ++ [gateR (env y) g]) (G ++ [stepG ex log root G g]) (S c) (put c x T) T'); auto.
    pose proof (info_follows env G c T H g _ x I) as Kx. destruct H as (L1 & [L2 L3] & K).
    split; [intro y; rewrite app_length, L1; simpl; lia|]. split; [split; [rewrite app_length, L2; simpl; lia|]|].
    + rewrite map_app. simpl. rewrite L3. auto.
    + intros k z Hz. destruct (find_put _ _ _ _ _ Hz) as [[E1 E2]|E]; [subst; auto|].
      apply (knows_later env G c k z (fun y => gateR (env y) g) (stepG ex log root G g)); auto.
Qed.

(* {1 The inputs} *)

Notation inputs_at := (fun y : pt => map y (seq 0 n)).

Lemma nth_inputs y k : (k < n)%nat -> nth k (map y (seq 0 n)) 0 = y k.
Proof.
  intro Hk. rewrite (nth_indep _ 0 (y 0%nat)) by (rewrite map_length, seq_length; auto). rewrite map_nth, seq_nth by auto. auto.
Qed.

Lemma row_input k : (k < n)%nat -> rowR (inputsR n W) k = fun i => if Nat.eqb i k then 1 else 0.
Proof.
  intro Hk. unfold rowR, inputsR.
  rewrite (nth_indep _ dualR0 ((fun k => (W k, fun i => if Nat.eqb i k then 1 else 0)) 0%nat)) by (rewrite map_length,
    seq_length; auto).
  rewrite (map_nth (fun k => (W k, fun i => if Nat.eqb i k then 1 else 0))), seq_nth by auto. auto.
Qed.

Lemma knows_input k : (k < n)%nat -> knows inputs_at (inputsR n W) n k
  {| at_w := Exactly (nth k w 0%Q); along_d := Exactly (nth k d 0%Q); still := false; same_as := k;
     made := Plain (Lin 0 [(1%Q, k)]) |}.
Proof.
  intro Hk. split; simpl; auto.
  - exists (fun y => (y k - W k) + Q2R (nth k w 0%Q)), (fun _ i => (if Nat.eqb i k then 1 else 0) + 0).
    rewrite nth_inputs, row_input by auto. split.
    + split; simpl.
      * apply near_add; [|apply near_const]. exists 1. split; [lra|]. intros y _.
        split; intros; [apply diff_coord; auto|apply cont_const].
      * unfold real. ring.
      * unfold real. auto.
      * intros i Hi. ring.
      * rewrite (dot_add_l n (fun i => if Nat.eqb i k then 1 else 0)), dot_zero_l, dot_unit by auto. unfold real. ring.
      * discriminate.
    + apply beside_all. intro y. rewrite nth_inputs by auto. unfold real. ring.
  - intros e He. exists e. split; auto. intros y Hy. rewrite !nth_inputs by auto.
    eapply Rle_lt_trans; [apply (N_term n (sub y W) k Hk)|auto].
  - split; [intros a [E|[]]; subst; auto|]. intro y. rewrite Q2R_1, Q2R_0. ring.
Qed.

Lemma load_knows m : forall a T, (a + m <= n)%nat ->
  (forall k x, find k T = Some x -> knows inputs_at (inputsR n W) n k x) ->
  forall k x, find k (load (map (fun k => (nth k w 0%Q, nth k d 0%Q)) (seq a m)) a T) = Some x ->
    knows inputs_at (inputsR n W) n k x.
Proof.
  induction m as [|m IH]; simpl; intros a T Ha H k x Hx; auto. apply (IH (S a) _ ltac:(lia)) in Hx; auto.
  intros k' x' Hx'. destruct (find_put _ _ _ _ _ Hx') as [[E1 E2]|E]; auto. subst. apply knows_input. lia.
Qed.

(* {1 Soundness} *)

(* Smooth functions that F is beside the direction: their gradient at w is a limit of F's. *)
Lemma smooth_bouligand m (F : map_) (f : nat -> pt -> R) (f' : nat -> pt -> pt) G :
  (forall j, (j < m)%nat -> near (f j) (f' j)) -> beside (fun y => forall j, (j < m)%nat -> F y j = f j y) ->
  (forall j i, (j < m)%nat -> (i < n)%nat -> f' j W i = G j i) -> Bouligand n m F W G.
Proof.
  intros C [T [T1 T2]] E e He.
  assert (D : exists r, 0 < r /\ forall y, N n (sub y W) < r -> forall j, (j < m)%nat -> diff_at n (f j) y (f' j y) /\
    forall i, (i < n)%nat -> Rabs (f' j y i - G j i) < e).
  { clear T T1 T2. induction m as [|m IH]; [exists 1; split; [lra|intros; lia]|].
    destruct IH as [r [R1 R2]]; auto. destruct (C m ltac:(lia)) as [r1 [S1 S2]].
    destruct (S2 W ltac:(rewrite N_self; auto)) as [_ S3].
    destruct (cont_all n (f' m) W S3 e He) as [r' [R1' R2']].
    exists (Rmin r (Rmin r1 r')). split; [repeat apply Rmin_glb_lt; auto|]. intros y Hy j Hj.
    pose proof (Rmin_l r (Rmin r1 r')). pose proof (Rmin_r r (Rmin r1 r')). pose proof (Rmin_l r1 r').
      pose proof (Rmin_r r1 r').
    destruct (Nat.eq_dec j m) as [J|J].
    - subst. split; [apply S2; lra|]. intros i Hi. rewrite <- E by auto. apply R2'; auto. lra.
    - apply R2; [lra|lia]. }
  destruct D as [r [R1 R2]]. destruct (arc_near n W A from_w (Rmin e r)) as [T' [T1' T2']]; [apply Rmin_glb_lt; auto|].
  pose proof (Rmin_l e r). pose proof (Rmin_r e r). pose proof (Rmin_l T T'). pose proof (Rmin_r T T').
  assert (M : 0 < Rmin T T') by (apply Rmin_glb_lt; auto). set (x := arc_at W A (Rmin T T' / 2)).
  assert (X : N n (sub x W) < Rmin e r) by (apply T2'; lra).
  destruct (T2 (Rmin T T' / 2) ltac:(lra)) as [b [B1 B2]]. fold x in B2.
  exists x, (fun j => f' j x). split; [lra|]. split.
  - intros j Hj. apply (diff_local n (f j) _ x _ b B1); [intros y Hy; apply B2; auto|]. apply R2; auto. lra.
  - intros j i Hj Hi. apply R2; auto. lra.
Qed.

(* Functions that F is beside the direction, smooth near w, with AD's output for their Jacobian at w. *)
Definition goes_on (P : list gate) (outs : list nat) := exists (f : nat -> pt -> R) (f' : nat -> pt -> pt),
  (forall j, (j < length outs)%nat -> near (f j) (f' j) /\
    forall i, (i < n)%nat -> f' j W i = adR ex log root n P outs W j i) /\
  beside (fun y => forall j, (j < length outs)%nat -> gates_value ex log root n P outs y j = f j y) /\
  forall j, (j < length outs)%nat -> cont n (fun y => gates_value ex log root n P outs y j) W.

Lemma direction_goes_on P outs hints : check_direction n P outs w d hints = true -> goes_on P outs.
Proof.
  unfold check_direction. destruct (follow_direction _ _ _ _) as [T|] eqn:F; try discriminate. intro H.
  assert (H0 : holds_for inputs_at (inputsR n W) n (load (entries_of n w d) 0 Empty)).
  { split; [intro y; rewrite map_length, seq_length; auto|].
    split; [split; [unfold inputsR; rewrite map_length, seq_length; auto|unfold inputsR; rewrite map_map; auto]|].
    intros k x. rewrite entries_nth. apply load_knows; [lia|]. intros k' x' E. discriminate E. }
  destruct (follow_direction_sound P hints _ _ _ _ _ H0 F) as (_ & _ & K).
  unfold goes_on, gates_value, adR.
  set (env := fun y => runG (map y (seq 0 n)) P) in *. set (G := runA (inputsR n W) P) in *.
  clear F H0. induction outs as [|k outs IH]; simpl in H.
  - exists (fun _ _ => 0), (fun _ _ _ => 0). split; [simpl; intros; lia|]. split; [apply beside_all|]; simpl; intros; lia.
  - apply andb_true_iff in H as [H1 H2]. destruct (find k T) as [x|] eqn:Fk; try discriminate.
    destruct (IH H2) as (f & f' & I1 & I2 & I3). destruct (knows_smooth _ _ _ _ _ (K k x Fk)) as (h & h' & [S0 S1 S2 S3 S4
      S5] & B).
    exists (fun j => match j with O => h | S j' => f j' end), (fun j => match j with O => h' | S j' => f' j' end). split;
      [|split].
    + intros [|j] Hj; simpl; auto. apply I1. simpl in Hj. lia.
    + apply (beside_imp n W A _ _ (beside_and n W A _ _ B I2)). intros y [Y1 Y2] [|j] Hj; simpl; auto.
      apply Y2. simpl in Hj. lia.
    + intros [|j] Hj; [apply (knows_cont _ _ _ _ _ (K k x Fk))|]. simpl in Hj. apply (I3 j). lia.
Qed.

Theorem direction_sound P outs hints : check_direction n P outs w d hints = true ->
  Bouligand n (length outs) (gates_value ex log root n P outs) W (adR ex log root n P outs W) /\
  forall j, (j < length outs)%nat -> cont n (fun y => gates_value ex log root n P outs y j) W.
Proof.
  intro H. destruct (direction_goes_on P outs hints H) as (f & f' & S1 & S2 & S3). split; [|exact S3].
  apply (smooth_bouligand _ _ f f'); [intros j Hj; apply S1, Hj|exact S2|].
  intros j i Hj Hi. apply (proj2 (S1 j Hj)); auto.
Qed.
End Direction.

(* Along no direction no argument moves. So none is at a kink, and no entries tie, unless they are constant or the same: F is
   one smooth function around w, and AD's output is its Jacobian there. *)
Theorem standing_sound ex log root n w P outs hints : elementary ex log root -> check_direction n P outs w [] hints = true ->
  forall j, (j < length outs)%nat -> diff_at n (fun y => gates_value ex log root n P outs y j) (real w) (adR ex log root n P
    outs
    (real w) j).
Proof.
  intros laws H j Hj. destruct (direction_goes_on ex log root laws n w [] P outs hints H) as (f & f' & S1 & [T [T1 T2]] & _).
  destruct (S1 j Hj) as [[r [R1 R2]] E]. destruct (R2 (real w) ltac:(rewrite N_self; auto)) as [D _].
  destruct (T2 (T / 2) ltac:(lra)) as [b [B1 B2]].
  apply (diff_ext_g n _ _ (f' j (real w))); auto.
  apply (diff_local n (f j) _ _ _ b B1); auto. intros y Hy. apply B2; auto.
  rewrite (N_ext n _ (sub y (real w))); auto. intros i Hi. unfold sub. rewrite arc_line by auto. unfold line.
  replace (real [] i) with 0; [ring|]. unfold real. destruct i; simpl; rewrite Q2R_0; auto.
Qed.
