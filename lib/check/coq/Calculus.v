(* Norms, continuity, rules of differentiation: what the proofs need, and no analysis library. *)
From Coq Require Import Reals Lra Lia List.
From Clarke Require Import Space.
Import ListNotations.
Open Scope R_scope.

Definition line (x : pt) (t : R) (u : pt) : pt := fun i => x i + t * u i.
Definition cont n (f : pt -> R) (x : pt) :=
  forall e, 0 < e -> exists d, 0 < d /\ forall y, N n (sub y x) < d -> Rabs (f y - f x) < e.

Section Calculus.
Variable n : nat.
Notation dot := (dot n).
Notation N := (N n).
Notation cont := (cont n).
Notation diff_at := (diff_at n).

(* {1 Finite sums} *)

Lemma sum_ext m f g : (forall i, (i < m)%nat -> f i = g i) -> sum m f = sum m g.
Proof. induction m; simpl; intros H; auto. rewrite IHm, (H m); auto; intros; apply H; lia. Qed.

Lemma sum_add m f g : sum m (fun i => f i + g i) = sum m f + sum m g.
Proof. induction m; simpl; lra. Qed.

Lemma sum_scale m c f : sum m (fun i => c * f i) = c * sum m f.
Proof. induction m; simpl; lra. Qed.

Lemma sum_le m f g : (forall i, (i < m)%nat -> f i <= g i) -> sum m f <= sum m g.
Proof.
  induction m; simpl; intros H; try lra.
  assert (f m <= g m) by (apply H; lia). assert (sum m f <= sum m g) by (apply IHm; intros; apply H; lia). lra.
Qed.

Lemma sum_zero m : sum m (fun _ => 0) = 0.
Proof. induction m; simpl; lra. Qed.

Lemma sum_nonneg m f : (forall i, (i < m)%nat -> 0 <= f i) -> 0 <= sum m f.
Proof. intro H. rewrite <- (sum_zero m). apply sum_le; auto. Qed.

(* Of numbers that are not negative, each is at most the sum. *)
Lemma sum_term m f i : (forall j, (j < m)%nat -> 0 <= f j) -> (i < m)%nat -> f i <= sum m f.
Proof.
  induction m; simpl; intros H Hi; try lia.
  assert (0 <= f m) by (apply H; lia).
  destruct (Nat.eq_dec i m).
  - subst. assert (0 <= sum m f) by (apply sum_nonneg; intros; apply H; lia). lra.
  - assert (f i <= sum m f) by (apply IHm; [intros; apply H|]; lia). lra.
Qed.

Lemma sum_delta m k f : sum m (fun i => (if Nat.eqb i k then 1 else 0) * f i) = if Nat.ltb k m then f k else 0.
Proof.
  induction m; simpl; auto. rewrite IHm.
  destruct (Nat.eqb_spec m k), (Nat.ltb_spec k m), (Nat.ltb_spec k (S m)); subst; try lia; lra.
Qed.

(* {1 The norm and the inner product} *)

Lemma N_nonneg h : 0 <= N h.
Proof. apply sum_nonneg; intros; apply Rabs_pos. Qed.

Lemma N_ext h k : (forall i, (i < n)%nat -> h i = k i) -> N h = N k.
Proof. intros H; apply sum_ext; intros; rewrite H; auto. Qed.

Lemma N_term h i : (i < n)%nat -> Rabs (h i) <= N h.
Proof. intro; apply (sum_term n (fun i => Rabs (h i))); auto; intros; apply Rabs_pos. Qed.

Lemma N_tri x y z : N (sub z x) <= N (sub z y) + N (sub y x).
Proof.
  unfold Space.N. rewrite <- sum_add. apply sum_le; intros. unfold sub.
  replace (z i - x i) with ((z i - y i) + (y i - x i)) by ring. apply Rabs_triang.
Qed.

Lemma N_self x : N (sub x x) = 0.
Proof.
  unfold Space.N. rewrite <- (sum_zero n). apply sum_ext; intros. unfold sub.
  replace (x i - x i) with 0 by ring. apply Rabs_R0.
Qed.

(* Along lines the norm is the step times the direction's. *)
Lemma N_line x t u : N (sub (line x t u) x) = Rabs t * N u.
Proof.
  unfold Space.N. rewrite <- sum_scale. apply sum_ext; intros. unfold sub, line.
  rewrite <- Rabs_mult. f_equal; ring.
Qed.

Lemma N_line2 x t u v : N (sub (line x t u) (line x t v)) = Rabs t * N (sub u v).
Proof.
  unfold Space.N. rewrite <- sum_scale. apply sum_ext; intros. unfold sub, line.
  rewrite <- Rabs_mult. f_equal; ring.
Qed.

Lemma N_le_add u v : N u <= N v + N (sub u v).
Proof.
  unfold Space.N. rewrite <- sum_add. apply sum_le; intros. unfold sub.
  replace (u i) with (v i + (u i - v i)) at 1 by ring. apply Rabs_triang.
Qed.

Lemma dot_ext g g' h h' : (forall i, (i < n)%nat -> g i = g' i) -> (forall i, (i < n)%nat -> h i = h' i) ->
  dot g h = dot g' h'.
Proof. intros A B; apply sum_ext; intros; rewrite A, B; auto. Qed.

Lemma dot_bound g h : Rabs (dot g h) <= N g * N h.
Proof.
  unfold Space.dot.
  assert (H : forall m, (m <= n)%nat -> Rabs (sum m (fun i => g i * h i)) <= sum m (fun i => N g * Rabs (h i))).
  { induction m; simpl; intros; [rewrite Rabs_R0; lra|].
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [apply IHm; lia|].
    rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|apply N_term; lia]. }
  eapply Rle_trans; [apply H; auto|]. rewrite sum_scale. apply Rle_refl.
Qed.

Lemma dot_comm g h : dot g h = dot h g.
Proof. apply sum_ext; intros; ring. Qed.

Lemma dot_add_l a b h : dot (fun i => a i + b i) h = dot a h + dot b h.
Proof. unfold Space.dot. rewrite <- sum_add. apply sum_ext; intros; ring. Qed.

Lemma dot_scale_l c a h : dot (fun i => c * a i) h = c * dot a h.
Proof. unfold Space.dot. rewrite <- sum_scale. apply sum_ext; intros; ring. Qed.

Lemma dot_zero_l h : dot (fun _ => 0) h = 0.
Proof. transitivity (sum n (fun _ => 0)); [apply sum_ext; intros; ring|apply sum_zero]. Qed.

Lemma dot_sub_l a b h : dot (sub a b) h = dot a h - dot b h.
Proof.
  replace (dot a h - dot b h) with (dot a h + -1 * dot b h) by ring.
  rewrite <- dot_scale_l, <- dot_add_l. apply dot_ext; auto. intros; unfold sub; ring.
Qed.

Lemma dot_sub_r g a b : dot g (sub a b) = dot g a - dot g b.
Proof. rewrite !(dot_comm g). apply dot_sub_l. Qed.

Lemma dot_line g x t u : dot g (sub (line x t u) x) = t * dot g u.
Proof. unfold Space.dot. rewrite <- sum_scale. apply sum_ext; intros. unfold sub, line; ring. Qed.

Lemma dot_line1 g x t u : dot g (line x t u) = dot g x + t * dot g u.
Proof. unfold Space.dot. rewrite <- sum_scale, <- sum_add. apply sum_ext; intros. unfold line; ring. Qed.

Lemma dot_unit k h : (k < n)%nat -> dot (fun i => if Nat.eqb i k then 1 else 0) h = h k.
Proof. intro Hk. unfold Space.dot. rewrite sum_delta. destruct (Nat.ltb_spec k n); auto; lia. Qed.

(* {1 Continuity} *)

Lemma diff_cont f x g : diff_at f x g -> cont f x.
Proof.
  intros H e He. destruct (H 1 Rlt_0_1) as [d [Hd H1]]. pose proof (N_nonneg g).
  exists (Rmin d (e / (2 + N g))). split; [apply Rmin_glb_lt; auto; apply Rdiv_lt_0_compat; lra|].
  intros y Hy.
  assert (Y1 : N (sub y x) < d) by (eapply Rlt_le_trans; [apply Hy| apply Rmin_l]).
  assert (Y2 : N (sub y x) < e / (2 + N g)) by (eapply Rlt_le_trans; [apply Hy| apply Rmin_r]).
  specialize (H1 y Y1). pose proof (dot_bound g (sub y x)). pose proof (N_nonneg (sub y x)).
  assert (N (sub y x) * (2 + N g) < e).
  { apply Rmult_lt_compat_r with (r := 2 + N g) in Y2; try lra.
    unfold Rdiv in Y2. rewrite Rmult_assoc, Rinv_l in Y2; lra. }
  replace (f y - f x) with ((f y - f x - dot g (sub y x)) + dot g (sub y x)) by ring.
  eapply Rle_lt_trans; [apply Rabs_triang|]. nra.
Qed.

Lemma cont_const c x : cont (fun _ => c) x.
Proof. intros e He. exists 1. split; [lra|]. intros. replace (c - c) with 0 by ring. rewrite Rabs_R0; auto. Qed.

Lemma cont_add f g x : cont f x -> cont g x -> cont (fun y => f y + g y) x.
Proof.
  intros F G e He. destruct (F (e/2)) as [d [D1 D2]]; try lra. destruct (G (e/2)) as [d' [D1' D2']]; try lra.
  exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l d d'). pose proof (Rmin_r d d'). specialize (D2 y ltac:(lra)). specialize (D2' y ltac:(lra)).
  replace (f y + g y - (f x + g x)) with ((f y - f x) + (g y - g x)) by ring.
  eapply Rle_lt_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma cont_mul f g x : cont f x -> cont g x -> cont (fun y => f y * g y) x.
Proof.
  intros F G e He. set (A := Rabs (f x)). set (B := Rabs (g x)).
  assert (HA : 0 <= A) by apply Rabs_pos. assert (HB : 0 <= B) by apply Rabs_pos.
  set (k := Rmin 1 (e / (A + B + 2))).
  assert (K : 0 < k) by (apply Rmin_glb_lt; try lra; apply Rdiv_lt_0_compat; lra).
  assert (K1 : k <= 1) by apply Rmin_l.
  assert (K2 : k * (A + B + 2) <= e).
  { assert (H : k <= e / (A + B + 2)) by apply Rmin_r. apply Rmult_le_compat_r with (r := A + B + 2) in H; try lra.
    unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H; lra. }
  destruct (F k K) as [d [D1 D2]]. destruct (G k K) as [d' [D1' D2']].
  exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l d d'). pose proof (Rmin_r d d'). specialize (D2 y ltac:(lra)). specialize (D2' y ltac:(lra)).
  replace (f y * g y - f x * g x) with
    ((f y - f x) * (g y - g x) + f x * (g y - g x) + g x * (f y - f x)) by ring.
  eapply Rle_lt_trans; [apply Rabs_triang|]. eapply Rle_lt_trans; [apply Rplus_le_compat_r; apply Rabs_triang|].
  rewrite !Rabs_mult. fold A B. pose proof (Rabs_pos (f y - f x)). pose proof (Rabs_pos (g y - g x)). nra.
Qed.

(* A strict sign at a point stays around it. *)
Lemma cont_sign f x : cont f x -> 0 < f x -> exists e, 0 < e /\ forall y, N (sub y x) < e -> 0 < f y.
Proof.
  intros C H. destruct (C (f x) H) as [e [E1 E2]]. exists e; split; auto. intros y Hy.
  specialize (E2 y Hy). apply Rabs_def2 in E2. lra.
Qed.

(* {1 Differentiation} *)

Lemma diff_ext_g f x g g' : (forall i, (i < n)%nat -> g i = g' i) -> diff_at f x g -> diff_at f x g'.
Proof.
  intros E H e He. destruct (H e He) as [d [D1 D2]]. exists d; split; auto. intros.
  rewrite <- (dot_ext g g' (sub y x) (sub y x)); auto.
Qed.

(* A function that equals f on a ball around x has f's derivative there. *)
Lemma diff_local f h x g r : 0 < r -> (forall y, N (sub y x) < r -> h y = f y) -> diff_at f x g -> diff_at h x g.
Proof.
  intros Hr E H e He. destruct (H e He) as [d [D1 D2]]. exists (Rmin d r). split; [apply Rmin_glb_lt; auto|].
  intros y Hy. pose proof (Rmin_l d r). pose proof (Rmin_r d r).
  rewrite (E y), (E x) by (rewrite ?N_self; lra). apply D2; lra.
Qed.

Lemma diff_const c x : diff_at (fun _ => c) x (fun _ => 0).
Proof.
  intros e He. exists 1. split; [lra|]. intros. rewrite dot_zero_l. replace (c - c - 0) with 0 by ring.
  rewrite Rabs_R0. pose proof (N_nonneg (sub y x)). nra.
Qed.

(* The k-th coordinate of the displacement from w. *)
Lemma diff_coord k (w x : pt) : (k < n)%nat -> diff_at (fun y => y k - w k) x (fun i => if Nat.eqb i k then 1 else 0).
Proof.
  intros Hk e He. exists 1. split; [lra|]. intros. rewrite dot_unit by auto. unfold sub at 1.
  replace (y k - w k - (x k - w k) - (y k - x k)) with 0 by ring. rewrite Rabs_R0.
  pose proof (N_nonneg (sub y x)). nra.
Qed.

Lemma diff_add f g x a b : diff_at f x a -> diff_at g x b -> diff_at (fun y => f y + g y) x (fun i => a i + b i).
Proof.
  intros F G e He. destruct (F (e/2)) as [d [D1 D2]]; try lra. destruct (G (e/2)) as [d' [D1' D2']]; try lra.
  exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l d d'). pose proof (Rmin_r d d').
  specialize (D2 y ltac:(lra)). specialize (D2' y ltac:(lra)). rewrite dot_add_l.
  replace (f y + g y - (f x + g x) - (dot a (sub y x) + dot b (sub y x)))
    with ((f y - f x - dot a (sub y x)) + (g y - g x - dot b (sub y x))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(* f y g y - f x g x is <a> g y + <b> f x, but for three terms, each at most e/3 of the distance. *)
Lemma diff_mul f g x a b : diff_at f x a -> diff_at g x b ->
  diff_at (fun y => f y * g y) x (fun i => g x * a i + f x * b i).
Proof.
  intros F G e He. pose proof (diff_cont _ _ _ G) as C.
  set (A := Rabs (f x)). set (B := Rabs (g x)).
  assert (HA : 0 <= A) by apply Rabs_pos. assert (HB : 0 <= B) by apply Rabs_pos. pose proof (N_nonneg a) as Na.
  destruct (C (Rmin 1 (e / (3 * (N a + 1))))) as [d0 [D0 E0]].
  { apply Rmin_glb_lt; try lra. apply Rdiv_lt_0_compat; lra. }
  destruct (F (e / (3 * (B + 1)))) as [d [D1 D2]]; [apply Rdiv_lt_0_compat; lra|].
  destruct (G (e / (3 * (A + 1)))) as [d' [D1' D2']]; [apply Rdiv_lt_0_compat; lra|].
  exists (Rmin d0 (Rmin d d')). split; [repeat apply Rmin_glb_lt; auto|]. intros y Hy.
  pose proof (Rmin_l d0 (Rmin d d')). pose proof (Rmin_r d0 (Rmin d d')).
  pose proof (Rmin_l d d'). pose proof (Rmin_r d d').
  specialize (E0 y ltac:(lra)). specialize (D2 y ltac:(lra)). specialize (D2' y ltac:(lra)).
  pose proof (Rmin_l 1 (e / (3 * (N a + 1)))). pose proof (Rmin_r 1 (e / (3 * (N a + 1)))).
  pose proof (N_nonneg (sub y x)) as M. set (m := N (sub y x)) in *.
  pose proof (dot_bound a (sub y x)) as Da. fold m in Da.
  rewrite dot_add_l, !dot_scale_l. set (p := dot a (sub y x)) in *. set (q := dot b (sub y x)) in *.
  replace (f y * g y - f x * g x - (g x * p + f x * q)) with
    ((f y - f x - p) * g y + p * (g y - g x) + f x * (g y - g x - q)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r; apply Rabs_triang|].
  rewrite !Rabs_mult. fold A.
  assert (Gy : Rabs (g y) <= B + 1).
  { replace (g y) with (g x + (g y - g x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold B. lra. }
  assert (T1 : Rabs (f y - f x - p) * Rabs (g y) <= e/3 * m).
  { apply Rle_trans with (e / (3 * (B + 1)) * m * (B + 1)); [apply Rmult_le_compat; auto using Rabs_pos|].
    right. field. lra. }
  assert (T2 : Rabs p * Rabs (g y - g x) <= e/3 * m).
  { apply Rle_trans with (N a * m * (e / (3 * (N a + 1)))); [apply Rmult_le_compat; auto using Rabs_pos; lra|].
    replace (e/3 * m) with ((N a + 1) * m * (e / (3 * (N a + 1)))) by (field; lra).
    apply Rmult_le_compat_r; [left; apply Rdiv_lt_0_compat; lra|nra]. }
  assert (T3 : A * Rabs (g y - g x - q) <= e/3 * m).
  { apply Rle_trans with ((A + 1) * (e / (3 * (A + 1)) * m)); [apply Rmult_le_compat; auto using Rabs_pos; lra|].
    right; field; lra. }
  lra.
Qed.

(* Smooth functions, with their gradient. *)
Record C1 (f : pt -> R) (f' : pt -> pt) : Prop := {
  c1_diff : forall x, diff_at f x (f' x);
  c1_cont : forall i, (i < n)%nat -> forall x, cont (fun y => f' y i) x }.

Lemma C1_cont f f' x : C1 f f' -> cont f x.
Proof. intros [A B]. eapply diff_cont; eauto. Qed.

Lemma C1_const c : C1 (fun _ => c) (fun _ _ => 0).
Proof. split; intros; auto using diff_const, cont_const. Qed.

Lemma C1_coord k w : (k < n)%nat -> C1 (fun y => y k - w k) (fun _ i => if Nat.eqb i k then 1 else 0).
Proof. split; intros; auto using diff_coord, cont_const. Qed.

Lemma C1_add f f' g g' : C1 f f' -> C1 g g' -> C1 (fun y => f y + g y) (fun y i => f' y i + g' y i).
Proof. intros [A B] [C D]; split; intros; auto using diff_add, cont_add. Qed.

Lemma C1_mul f f' g g' : C1 f f' -> C1 g g' -> C1 (fun y => f y * g y) (fun y i => g y * f' y i + f y * g' y i).
Proof.
  intros [A B] [C D]; split; intros; auto using diff_mul.
  apply cont_add; apply cont_mul; auto; eapply diff_cont; eauto.
Qed.

Lemma C1_scale c f f' : C1 f f' -> C1 (fun y => c * f y) (fun y i => c * f' y i).
Proof.
  intros [A B]. split; intros; auto using cont_mul, cont_const.
  eapply diff_ext_g; [|apply (diff_mul (fun _ => c) f x (fun _ => 0) (f' x)); auto using diff_const].
  intros; simpl; ring.
Qed.

(* All entries of a gradient are near at once. *)
Lemma cont_all (f : pt -> pt) x : (forall i, (i < n)%nat -> cont (fun y => f y i) x) ->
  forall e, 0 < e -> exists d, 0 < d /\ forall y, N (sub y x) < d -> forall i, (i < n)%nat -> Rabs (f y i - f x i) < e.
Proof.
  intros H e He.
  assert (G : forall m, (m <= n)%nat -> exists d, 0 < d /\
    forall y, N (sub y x) < d -> forall i, (i < m)%nat -> Rabs (f y i - f x i) < e).
  { induction m; intros Hm; [exists 1; split; [lra|intros; lia]|].
    destruct IHm as [d [D1 D2]]; try lia. destruct (H m ltac:(lia) e He) as [d' [D1' D2']].
    exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|]. intros y Hy i Hi.
    pose proof (Rmin_l d d'). pose proof (Rmin_r d d').
    destruct (Nat.eq_dec i m); [subst; apply D2'; lra|apply D2; try lia; lra]. }
  apply (G n); auto.
Qed.

(* {1 Two functions whose derivatives differ} *)

(* A function that has a derivative other than 0 along u at x is not 0 on a cone of directions around u. *)
Lemma depart f x g u : diff_at f x g -> dot g u <> 0 ->
  exists T p, 0 < T /\ 0 < p /\ forall t v, 0 < t < T -> N (sub v u) < p -> f (line x t v) <> 0.
Proof.
  intros D Hu. pose proof (N_nonneg u) as Nu. pose proof (N_nonneg g) as Ng. pose proof (Rabs_pos_lt _ Hu) as Ha.
  set (a := Rabs (dot g u)) in *.
  assert (Step : forall d, 0 < d -> exists T, 0 < T /\
    forall t v, 0 < t < T -> N (sub v u) < 1 -> N (sub (line x t v) x) < d /\ N (sub (line x t v) x) <= t * (N u + 1)).
  { intros d Hd. exists (d / (N u + 1)). split; [apply Rdiv_lt_0_compat; lra|]. intros t v Ht Hv.
    rewrite N_line, Rabs_right by lra. pose proof (N_le_add v u). pose proof (N_nonneg v).
    destruct Ht as [T0 T1]. apply Rmult_lt_compat_r with (r := N u + 1) in T1; try lra.
    unfold Rdiv in T1. rewrite Rmult_assoc, Rinv_l in T1 by lra. split; nra. }
  destruct (Req_dec (f x) 0) as [Z|Z].
  - destruct (D (a / (4 * (N u + 1)))) as [d [D1 D2]]; [apply Rdiv_lt_0_compat; lra|].
    destruct (Step d D1) as [T [T1 T2]]. exists T, (Rmin 1 (a / (4 * (N g + 1)))).
    assert (0 < a / (4 * (N g + 1))) by (apply Rdiv_lt_0_compat; lra).
    split; auto. split; [apply Rmin_glb_lt; lra|]. intros t v Ht Hv E.
    pose proof (Rmin_l 1 (a / (4 * (N g + 1)))). pose proof (Rmin_r 1 (a / (4 * (N g + 1)))).
    destruct (T2 t v Ht ltac:(lra)) as [V1 V2]. specialize (D2 _ V1). rewrite E, Z, dot_line in D2.
    assert (B1 : Rabs (0 - 0 - t * dot g v) <= t * a / 4).
    { eapply Rle_trans; [apply D2|]. apply Rle_trans with (a / (4 * (N u + 1)) * (t * (N u + 1))).
      apply Rmult_le_compat_l; auto. left; apply Rdiv_lt_0_compat; lra. right; field; lra. }
    pose proof (dot_bound g (sub v u)) as B2. rewrite dot_sub_r in B2.
    assert (B3 : N g * N (sub v u) <= a / 4).
    { apply Rle_trans with ((N g + 1) * (a / (4 * (N g + 1)))).
      apply Rmult_le_compat; try lra. apply N_nonneg. right; field; lra. }
    assert (B4 : a <= Rabs (dot g v) + Rabs (dot g v - dot g u)).
    { unfold a. replace (dot g u) with (dot g v + - (dot g v - dot g u)) at 1 by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    replace (0 - 0 - t * dot g v) with (- (t * dot g v)) in B1 by ring.
    rewrite Rabs_Ropp, Rabs_mult, Rabs_right in B1 by lra. nra.
  - destruct (diff_cont f x g D (Rabs (f x)) (Rabs_pos_lt _ Z)) as [d [D1 D2]].
    destruct (Step d D1) as [T [T1 T2]]. exists T, 1. split; auto. split; [lra|]. intros t v Ht Hv E.
    specialize (D2 _ (proj1 (T2 t v Ht Hv))). rewrite E in D2.
    replace (0 - f x) with (- f x) in D2 by ring. rewrite Rabs_Ropp in D2. lra.
Qed.

(* {1 Functions that vanish on thin sets} *)

(* In every ball there is a ball on which q is not 0. *)
Definition thin (q : pt -> R) := forall c r, 0 < r -> exists c' r', 0 < r' /\
  forall y, N (sub y c') < r' -> N (sub y c) < r /\ q y <> 0.

(* A point of an open set has a ball in it, where a continuous function that is not 0 there stays so. *)
Lemma ball_nonzero q c r z : 0 < r -> N (sub z c) < r -> cont q z -> q z <> 0 ->
  exists r', 0 < r' /\ forall y, N (sub y z) < r' -> N (sub y c) < r /\ q y <> 0.
Proof.
  intros Hr Hz C Nz. destruct (C (Rabs (q z)) (Rabs_pos_lt _ Nz)) as [d [D1 D2]].
  exists (Rmin d (r - N (sub z c))). split; [apply Rmin_glb_lt; lra|]. intros y Hy.
  pose proof (Rmin_l d (r - N (sub z c))). pose proof (Rmin_r d (r - N (sub z c))). pose proof (N_tri c z y).
  split; [lra|]. intro E. specialize (D2 y ltac:(lra)). rewrite E in D2.
  replace (0 - q z) with (- q z) in D2 by ring. rewrite Rabs_Ropp in D2. lra.
Qed.

(* Finitely many thin sets leave a ball free. *)
Lemma thin_all l : Forall thin l -> forall c r, 0 < r -> exists c' r', 0 < r' /\
  forall y, N (sub y c') < r' -> N (sub y c) < r /\ Forall (fun q => q y <> 0) l.
Proof.
  induction 1 as [|q l Hq Hl IH]; intros c r Hr; [exists c, r; split; auto|].
  destruct (Hq c r Hr) as [c1 [r1 [R1 H1]]]. destruct (IH c1 r1 R1) as [c2 [r2 [R2 H2]]].
  exists c2, r2. split; auto. intros y Hy. destruct (H2 y Hy) as [A B]. destruct (H1 y A). auto.
Qed.

(* A linear function that is not 0 somewhere is so off a thin set. *)
Lemma thin_linear g u : dot g u <> 0 -> thin (dot g).
Proof.
  intros Hu c r Hr. pose proof (N_nonneg u).
  assert (C : forall z, cont (dot g) z).
  { intros z. apply (diff_cont _ z g). intros e He. exists 1. split; [lra|]. intros.
    rewrite <- dot_sub_r. replace (_ - _) with 0 by ring. rewrite Rabs_R0. pose proof (N_nonneg (sub y z)). nra. }
  assert (Z : exists z, N (sub z c) < r /\ dot g z <> 0).
  { destruct (Req_dec (dot g c) 0) as [E|E].
    - exists (line c (r / (2 * (N u + 1))) u).
      assert (0 < r / (2 * (N u + 1))) by (apply Rdiv_lt_0_compat; lra).
      assert (K : r / (2 * (N u + 1)) * (N u + 1) = r / 2) by (field; lra).
      split; [rewrite N_line, Rabs_right by lra; nra|].
      rewrite dot_line1, E. intro B. rewrite Rplus_0_l in B. apply Rmult_integral in B as [B|B]; lra.
    - exists c. rewrite N_self. auto. }
  destruct Z as [z [Z1 Z2]]. destruct (ball_nonzero (dot g) c r z Hr Z1 (C z) Z2) as [r' Hr']. exists z, r'. auto.
Qed.
End Calculus.
