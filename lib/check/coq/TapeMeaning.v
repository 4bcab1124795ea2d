(* The program of a tape computes what the tape means. *)
From Coq Require Import QArith Qreals Reals Lra Lia String List Bool.
From Clarke Require Import Space Numbers Program Order Text Store Tape.
Import ListNotations.
Open Scope R_scope.

Lemma load_find {A} (l : list A) : forall k T j y, find j (load_from l k T) = Some y ->
  (exists i, (i < length l)%nat /\ j = (k + i)%nat /\ nth_error l i = Some y) \/ find j T = Some y.
Proof.
  induction l as [|x l IH]; simpl; intros k T j y H; auto. destruct (IH _ _ _ _ H) as [[i [I1 [I2 I3]]]|F].
  - left. exists (S i). simpl. repeat split; auto; lia.
  - destruct (find_put _ _ _ _ _ F) as [[E1 E2]|E]; auto. subst. left. exists 0%nat. simpl. repeat split; auto; lia.
Qed.

Lemma program_of_rev code : program_of code = map (fun o => (no_hint, o)) (rev code).
Proof.
  unfold program_of.
  assert (G : forall P, fold_left (fun P o => (no_hint, o) :: P) code P = map (fun o => (no_hint, o)) (rev code) ++ P).
  { induction code as [|o code IH]; intro P; simpl; auto. rewrite IH, map_app, <- app_assoc. auto. }
  rewrite G, app_nil_r. auto.
Qed.

Lemma runR_app P : forall env P', runR env (P ++ P') = runR (runR env P) P'.
Proof. induction P as [|[g o] P IH]; simpl; auto. Qed.

Lemma linR_base c l env : linR c l env = Q2R c + linR 0 l env.
Proof. induction l as [|[q k] l IH]; simpl; [rewrite Q2R_0|rewrite IH]; ring. Qed.

Lemma linR_app_env c l env more : (forall t, In t l -> (snd t < length env)%nat) -> linR c l (env ++ more) = linR c l env.
Proof.
  induction l as [|[q k] l IH]; simpl; intro H; auto. rewrite IH by auto. rewrite app_nth1; auto.
  apply (H (q, k)). auto.
Qed.

Arguments write : simpl never.

Section Machine.
Variable n : nat.

Definition run x (m : machine) : list R := runR (map x (seq 0 n)) (program_of (fst m)).
Definition wf (m : machine) := snd m = (n + length (fst m))%nat.
(* m' goes on from m. *)
Definition onward (m m' : machine) := wf m' /\ (snd m <= snd m')%nat /\ forall x, exists more, run x m' = run x m ++ more.
Definition den x m v : R := match v with Const q => Q2R q | Slot k => nth k (run x m) 0 end.
Definition means m v (f : pt -> R) :=
  (match v with Const _ => True | Slot k => (k < snd m)%nat end) /\ forall x, den x m v = f x.

Lemma run_length x m : wf m -> length (run x m) = snd m.
Proof.
  intro H. unfold run. destruct (run_prefix (program_of (fst m)) (map x (seq 0 n))) as [rest [E L]].
  rewrite E, app_length, map_length, seq_length, L, program_of_rev, map_length, rev_length. auto.
Qed.

Lemma onward_refl m : wf m -> onward m m.
Proof. intro H. split; auto. split; auto. intro x. exists []. rewrite app_nil_r. auto. Qed.

Lemma onward_trans m m' m'' : onward m m' -> onward m' m'' -> onward m m''.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3). split; auto. split; [lia|]. intro x. destruct (A3 x) as [a Ha], (B3 x) as [b Hb].
  exists (a ++ b). rewrite Hb, Ha, app_assoc. auto.
Qed.

Lemma means_on m m' v f : wf m -> onward m m' -> means m v f -> means m' v f.
Proof.
  intros Wf (_ & L & E) [K H]. split; [destruct v; auto; lia|]. intro x. rewrite <- H. destruct v as [q|k]; auto.
  simpl. destruct (E x) as [more Em]. rewrite Em, app_nth1; auto. rewrite run_length; auto.
Qed.

Lemma write_on o m k m' : wf m -> write o m = (k, m') -> onward m m' /\ (k < snd m')%nat /\
  forall x, nth k (run x m') 0 = stepR (run x m) o.
Proof.
  unfold write. intros Wf E. inversion E; subst. unfold wf in *. simpl in *.
  assert (R : forall x, run x (o :: fst m, S (snd m)) = run x m ++ [stepR (run x m) o]).
  { intro x. unfold run. simpl fst. rewrite !program_of_rev. simpl rev. rewrite map_app, runR_app. auto. }
  split; [|split; [lia|]].
  - split; [unfold wf; simpl; lia|]. split; [simpl; lia|]. intro x. eexists. apply R.
  - intro x. rewrite R. rewrite <- (run_length x m) by (unfold wf; auto). rewrite app_nth2, Nat.sub_diag; auto.
Qed.

Lemma slot_for_on v m k m' f : wf m -> means m v f -> slot_for v m = (k, m') -> onward m m' /\ means m' (Slot k) f.
Proof.
  intros Wf H E. destruct v as [q|j]; simpl in E.
  - destruct (write_on _ _ _ _ Wf E) as (A & B & C). split; auto. split; auto. intro x. simpl. rewrite C. apply (proj2 H x).
  - inversion E; subst. split; [apply onward_refl; auto|auto].
Qed.

Lemma slots_for_on l : forall m ks m' fs, wf m -> Forall2 (means m) l fs -> slots_for l m = (ks, m') ->
  onward m m' /\ Forall2 (fun k f => means m' (Slot k) f) ks fs.
Proof.
  induction l as [|v l IH]; simpl; intros m ks m' fs Wf H E.
  - inversion E; subst. inversion H; subst. split; [apply onward_refl; auto|constructor].
  - destruct (slot_for v m) as [k m1] eqn:E1. destruct (slots_for l m1) as [ks1 m2] eqn:E2. inversion E; subst.
    inversion H as [|? f ? fs' Hv Hl]; subst. destruct (slot_for_on v m k m1 f Wf Hv E1) as [A B].
    assert (Hl' : Forall2 (means m1) l fs') by (clear -Hl Wf A; induction Hl; constructor; auto; apply (means_on m); auto).
    destruct (IH m1 ks1 m' fs' (proj1 A) Hl' E2) as [C D]. split; [apply (onward_trans m m1); auto|].
    constructor; auto. apply (means_on m1); auto. apply A.
Qed.

(* {1 Sums} *)

Definition sums m q (l : list (Q * nat)) (s : pt -> R) := (forall t, In t l -> (snd t < snd m)%nat) /\
  forall x, linR q l (run x m) = s x.

Lemma sums_on m m' q l s : wf m -> onward m m' -> sums m q l s -> sums m' q l s.
Proof.
  intros Wf (_ & L & E) [H1 H2]. split; [intros t Ht; specialize (H1 t Ht); lia|]. intro x. rewrite <- H2.
  destruct (E x) as [more Em]. rewrite Em. apply linR_app_env. intros t Ht. rewrite run_length; auto.
Qed.

Lemma sums_base m q a l s : sums m q l s -> sums m (qadd q a) l (fun x => s x + Q2R a).
Proof.
  intros [H1 H2]. split; auto. intro x. rewrite <- H2, (linR_base (qadd q a)), (linR_base q), Q2R_add. ring.
Qed.

Lemma sums_term m q l s c k f : means m (Slot k) f -> sums m q l s -> sums m q ((c, k) :: l) (fun x => s x + Q2R c * f x).
Proof.
  intros [K H] [H1 H2]. split; [intros t [E|E]; [subst; auto|auto]|]. intro x. simpl. rewrite H2. specialize (H x). simpl in H.
  rewrite H. ring.
Qed.

Lemma sums_ext m q l s s' : (forall x, s x = s' x) -> sums m q l s -> sums m q l s'.
Proof. intros E [H1 H2]. split; auto. intro x. rewrite <- E. auto. Qed.

Lemma add_term_on c u v q l m f g s q' l' m' : wf m -> means m u f -> means m v g -> sums m q l s ->
  add_term c u v q l m = (q', l', m') -> onward m m' /\ sums m' q' l' (fun x => s x + Q2R c * (f x * g x)).
Proof.
  intros Wf Hu Hv Hs E. destruct u as [a|i], v as [b|j]; unfold add_term in E; cbv beta iota in E.
  - inversion E; subst. split; [apply onward_refl; auto|]. apply (sums_ext _ _ _ (fun x => s x + Q2R (qmul c (qmul a b)))).
    + intro x. rewrite <- (proj2 Hu x), <- (proj2 Hv x). simpl. rewrite !Q2R_mul. auto.
    + apply sums_base; auto.
  - destruct (qz (qmul c a)) eqn:Z; inversion E; subst; (split; [apply onward_refl; auto|]).
    + apply (sums_ext _ _ _ s); auto. intro x. rewrite <- (proj2 Hu x). simpl. apply qz_true in Z. rewrite Q2R_mul in Z.
      rewrite <- Rmult_assoc, Z. ring.
    + apply (sums_ext _ _ _ (fun x => s x + Q2R (qmul c a) * g x)); [|apply sums_term; auto].
      intro x. rewrite <- (proj2 Hu x). simpl. rewrite Q2R_mul. ring.
  - destruct (qz (qmul c b)) eqn:Z; inversion E; subst; (split; [apply onward_refl; auto|]).
    + apply (sums_ext _ _ _ s); auto. intro x. rewrite <- (proj2 Hv x). simpl. apply qz_true in Z. rewrite Q2R_mul in Z.
      rewrite (Rmult_comm (f x)), <- Rmult_assoc, Z. ring.
    + apply (sums_ext _ _ _ (fun x => s x + Q2R (qmul c b) * f x)); [|apply sums_term; auto].
      intro x. rewrite <- (proj2 Hv x). simpl. rewrite Q2R_mul. ring.
  - destruct (qz c) eqn:Z.
    + inversion E; subst. split; [apply onward_refl; auto|]. apply (sums_ext _ _ _ s); auto.
      intro x. rewrite (qz_true _ Z). ring.
    + destruct (write (Mul i j) m) as [k m1] eqn:Ew. inversion E; subst. destruct (write_on _ _ _ _ Wf Ew) as (A & B & C).
      split; auto. apply (sums_term _ _ l s c k (fun x => f x * g x)); [|apply (sums_on m); auto].
      split; auto. intro x. simpl. rewrite C. simpl. rewrite <- (proj2 Hu x), <- (proj2 Hv x). auto.
Qed.

Lemma sums_nil m : sums m 0 [] (fun _ => 0).
Proof. split; [intros t []|]. intro. simpl. apply Q2R_0. Qed.

Lemma end_sum_on q l m s v m' : wf m -> sums m q l s -> end_sum (q, l, m) = (v, m') -> onward m m' /\ means m' v s.
Proof.
  intros Wf [H1 H2] E. unfold end_sum in E. destruct l as [|t l].
  - inversion E; subst. split; [apply onward_refl; auto|]. split; auto.
  - destruct (write (Lin q (t :: l)) m) as [k m1] eqn:Ew. inversion E; subst. destruct (write_on _ _ _ _ Wf Ew) as (A & B & C).
    split; auto. split; auto. intro x. unfold den. rewrite C. apply H2.
Qed.

(* {1 Rows} *)

Section Rows.
Variable ps : list place_of.
(* What varies is among the n. *)
Hypothesis fits_n : forall p first l, nth p ps (None, []) = (Some first, l) -> (first + length l <= n)%nat.

Definition represents m (D : done_) (done : pt -> list (list R)) := forall k T f v, find k D = Some T -> find f T = Some v ->
  means m v (fun x => nth f (nth k (done x) []) 0).

Lemma represents_on m m' D done : wf m -> onward m m' -> represents m D done -> represents m' D done.
Proof. intros Wf O H k T f v F G. apply (means_on m); auto. apply (H k T f v F G). Qed.

Lemma source_means m D done s v : represents m D done -> source_num D s = Some v -> means m v (fun x => sourceR (done x) s).
Proof.
  intros H E. destruct s as [k f| |]; simpl in E.
  - destruct (find k D) as [T|] eqn:F; try discriminate. apply (H k T f v F E).
  - inversion E; subst. split; auto. intro. simpl. apply Q2R_1.
  - inversion E; subst. split; auto. intro. simpl. apply Q2R_0.
Qed.

Lemma run_input x m k : (k < n)%nat -> nth k (run x m) 0 = x k.
Proof.
  intro Hk. unfold run. destruct (run_prefix (program_of (fst m)) (map x (seq 0 n))) as [rest [E _]].
  rewrite E, app_nth1 by (rewrite map_length, seq_length; auto).
  rewrite (nth_indep _ 0 (x 0%nat)) by (rewrite map_length, seq_length; auto). rewrite map_nth, seq_nth by auto. auto.
Qed.

Lemma stored_find p first T : find p (stores ps) = Some (first, T) ->
  exists l, nth p ps (None, []) = (first, l) /\ forall e q, find e T = Some q -> nth e l 0%Q = q /\ (e < length l)%nat.
Proof.
  unfold stores. intro H. destruct (load_find _ _ _ _ _ H) as [[i [I1 [I2 I3]]]|F]; [|destruct p; discriminate F].
  simpl in I2. subst i. rewrite map_length in I1. destruct (nth_error ps p) as [[fi l]|] eqn:N;
    [|apply nth_error_None in N; destruct (Nat.lt_irrefl _ (Nat.lt_le_trans _ _ _ I1 N))].
  pose proof (map_nth_error (fun p : place_of => (fst p, load_from (snd p) 0%nat Empty)) p ps N) as M. simpl in M.
  assert (E : Some (fi, load_from l 0%nat Empty) = Some (first, T)) by (rewrite <- M; exact I3). inversion E; subst.
  exists l. split; [apply nth_error_nth, N|]. intros e q G.
  destruct (load_find _ _ _ _ _ G) as [[i [J1 [J2 J3]]]|F]; [|destruct e; discriminate F]. simpl in J2. subst i.
  split; auto. apply nth_error_nth, J3.
Qed.

Lemma factor_means m c v : wf m -> factor_num (stores ps) c = Some v ->
  means m v (fun x => match snd c with Some e => entryR ps x e | None => 1 end).
Proof.
  intros Wf E. unfold factor_num in E. destruct c as [c [[p e]|]]; simpl in *.
  - destruct (find p (stores ps)) as [[[first|] T]|] eqn:F; try discriminate;
      destruct (stored_find p _ T F) as (l & L1 & L2); destruct (find e T) as [q|] eqn:G; try discriminate; inversion E; subst;
      destruct (L2 e q G) as [M1 M2]; unfold entryR; simpl.
    + pose proof (fits_n p first l L1). split; [unfold wf in Wf; lia|]. intro x. rewrite L1. simpl. apply run_input. lia.
    + split; auto. intro x. rewrite L1. simpl. rewrite M1. auto.
  - inversion E; subst. split; auto. intro. simpl. apply Q2R_1.
Qed.

Lemma add_terms_on D done r : forall q l m s q' l' m', wf m -> represents m D done -> sums m q l s ->
  add_terms (stores ps) D r q l m = Some (q', l', m') ->
  onward m m' /\ sums m' q' l' (fun x => s x + linearR ps x (done x) r).
Proof.
  induction r as [|[c sc] r IH]; simpl; intros q l m s q' l' m' Wf Hd Hs E.
  - inversion E; subst. split; [apply onward_refl; auto|]. apply (sums_ext _ _ _ s); auto. intro; ring.
  - destruct (factor_num (stores ps) c) as [u|] eqn:Fu; try discriminate.
    destruct (source_num D sc) as [v|] eqn:Fv; try discriminate.
    destruct (add_term (fst c) u v q l m) as [[q1 l1] m1] eqn:Ea.
    pose proof (factor_means m c u Wf Fu) as Mu. pose proof (source_means m D done sc v Hd Fv) as Mv.
    destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ _ Wf Mu Mv Hs Ea) as [A B].
    destruct (IH _ _ _ _ _ _ _ (proj1 A) (represents_on m m1 D done Wf A Hd) B E) as [C S].
    split; [apply (onward_trans m m1); auto|]. eapply sums_ext; [|exact S]. intro x. unfold factorR. simpl. ring.
Qed.

Lemma linear_on D done r m v m' : wf m -> represents m D done -> linear_num (stores ps) D r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => linearR ps x (done x) r).
Proof.
  intros Wf Hd E. unfold linear_num in E. destruct (add_terms (stores ps) D r 0 [] m) as [[[q l] m1]|] eqn:Ea; try discriminate.
  destruct (add_terms_on D done r _ _ _ _ _ _ _ Wf Hd (sums_nil m) Ea) as [A B]. inversion E as [E'].
  destruct (end_sum_on q l m1 _ v m' (proj1 A) B E') as [C M]. split; [apply (onward_trans m m1); auto|].
  split; [apply M|]. intro x. rewrite (proj2 M x). ring.
Qed.

Lemma add_products_on D done : forall r q l m s q' l' m', wf m -> represents m D done -> sums m q l s ->
  add_products D r q l m = Some (q', l', m') -> onward m m' /\ sums m' q' l' (fun x => s x + productsR (done x) r).
Proof.
  assert (G : forall len r, (length r <= len)%nat -> forall q l m s q' l' m', wf m -> represents m D done -> sums m q l s ->
    add_products D r q l m = Some (q', l', m') -> onward m m' /\ sums m' q' l' (fun x => s x + productsR (done x) r)).
  { induction len as [|len IH]; intros r Len q l m s q' l' m' Wf Hd Hs E.
    - destruct r; [|simpl in Len; lia]. simpl in *. inversion E; subst. split; [apply onward_refl; auto|].
      apply (sums_ext _ _ _ s); auto. intro; ring.
    - destruct r as [|[c a] [|[c' b] r]]; simpl in E; try discriminate.
      + inversion E; subst. split; [apply onward_refl; auto|]. apply (sums_ext _ _ _ s); auto. intro; simpl; ring.
      + destruct (source_num D a) as [u|] eqn:Fu; try discriminate. destruct (source_num D b) as [v|] eqn:Fv; try discriminate.
        destruct (add_term 1 u v q l m) as [[q1 l1] m1] eqn:Ea.
        pose proof (source_means m D done a u Hd Fu) as Mu. pose proof (source_means m D done b v Hd Fv) as Mv.
        destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ _ Wf Mu Mv Hs Ea) as [A B].
        destruct (IH r ltac:(simpl in Len; lia) _ _ _ _ _ _ _ (proj1 A) (represents_on m m1 D done Wf A Hd) B E) as [C S].
        split; [apply (onward_trans m m1); auto|]. eapply sums_ext; [|exact S]. intro x. simpl.
        rewrite Q2R_1. ring. }
  intros r. apply (G (length r) r (le_n _)).
Qed.

Lemma product_on D done r m v m' : wf m -> represents m D done -> product_num D r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => productsR (done x) r).
Proof.
  intros Wf Hd E. unfold product_num in E. destruct (add_products D r 0 [] m) as [[[q l] m1]|] eqn:Ea; try discriminate.
  destruct (add_products_on D done r _ _ _ _ _ _ _ Wf Hd (sums_nil m) Ea) as [A B]. inversion E as [E'].
  destruct (end_sum_on q l m1 _ v m' (proj1 A) B E') as [C M]. split; [apply (onward_trans m m1); auto|].
  split; [apply M|]. intro x. rewrite (proj2 M x). ring.
Qed.

(* {1 Windows} *)

Lemma sources_means m D done l : forall vs, represents m D done -> source_nums D l = Some vs ->
  Forall2 (means m) vs (map (fun s x => sourceR (done x) s) l).
Proof.
  induction l as [|s l IH]; simpl; intros vs Hd E; [inversion E; constructor|].
  destruct (source_num D s) as [v|] eqn:F; try discriminate. destruct (source_nums D l) as [ws|]; try discriminate.
  inversion E; subst. constructor; auto. apply (source_means m D done s v Hd F).
Qed.

Lemma slots_values m (done : pt -> list (list R)) l : forall ks,
  Forall2 (fun k f => means m (Slot k) f) ks (map (fun s x => sourceR (done x) s) l) ->
  forall x, map (fun k => nth k (run x m) 0) ks = map (sourceR (done x)) l.
Proof.
  induction l as [|s l IH]; simpl; intros ks H x; inversion H as [|k ? ks' ? H1 H2]; subst; auto. simpl.
  f_equal; [apply (proj2 H1 x)|apply IH, H2].
Qed.

Lemma window_on D done u beta r m v m' : wf m -> represents m D done -> window_num D u beta r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => windowR (done x) r).
Proof.
  intros Wf Hd E. unfold window_num in E. destruct (source_nums D (present r)) as [[|w ws]|] eqn:F; try discriminate.
  pose proof (sources_means m D done _ _ Hd F) as M. destruct (slots_for (w :: ws) m) as [ks m1] eqn:E1.
  destruct (write (Kth 1 ks u beta) m1) as [k m2] eqn:E2. inversion E; subst.
  destruct (slots_for_on _ _ _ _ _ Wf M E1) as [A B]. destruct (write_on _ _ _ _ (proj1 A) E2) as (C & K & W).
  split; [apply (onward_trans m m1); auto|]. split; auto. intro x. unfold den. rewrite W. simpl. unfold windowR. f_equal.
  apply (slots_values m1 done _ ks B).
Qed.

(* {1 Piecewise linear functions} *)

Definition bendR (p q : piece) a z := Q2R (bend p q a) * (z - Q2R a) + Q2R (curve p q) * ((z - Q2R a) * (z - Q2R a)).
Fixpoint kinksR (kinks : list (nat * Q)) (p : piece) (pieces : list piece) z : R := match kinks, pieces with
  | (_, a) :: kinks', q :: pieces' => (if Rlt_dec z (Q2R a) then 0 else bendR p q a z) + kinksR kinks' q pieces' z
  | _, _ => 0 end.

Lemma kinks_below kinks : forall p pieces z, joins kinks (p :: pieces) = true ->
  (match kinks with (_, a) :: _ => z < Q2R a | [] => True end) -> kinksR kinks p pieces z = 0.
Proof.
  induction kinks as [|[k a] kinks IH]; intros p pieces z J Z; auto. destruct pieces as [|q pieces]; auto. cbn [kinksR].
  simpl in J. rewrite !andb_true_iff in J. destruct J as [[J1 J2] J3].
  destruct (Rlt_dec z (Q2R a)); [|lra]. rewrite (IH q pieces z J3); [ring|].
  destruct kinks as [|[k' b] kinks]; auto. destruct (a ?= b)%Q eqn:C; try discriminate. apply Qlt_alt, Qlt_Rlt in C. lra.
Qed.

Lemma bend_at p q a z : Qeq_bool (on_ p a) (on_ q a) = true -> onR q z = onR p z + bendR p q a z.
Proof.
  intro J. apply Qeq_bool_R in J. unfold on_ in J. rewrite !Q2R_add, !Q2R_mul in J. unfold onR, bendR, bend, curve, tangent.
  rewrite !Q2R_sub, !Q2R_add, !Q2R_mul. assert (E : Q2R 2 = 2) by (unfold Q2R; simpl; lra). rewrite E. nra.
Qed.

Lemma pieces_sum kinks : forall p pieces z, joins kinks (p :: pieces) = true ->
  pieceR kinks (p :: pieces) z = onR p z + kinksR kinks p pieces z.
Proof.
  induction kinks as [|[k a] kinks IH]; intros p pieces z J.
  - simpl. ring.
  - simpl in J. destruct pieces as [|q pieces]; [rewrite !andb_true_iff in J; destruct J as [[J1 _] _]; discriminate|].
    rewrite !andb_true_iff in J. destruct J as [[[J1 J0] J2] J3].
    change (pieceR ((k, a) :: kinks) (p :: q :: pieces) z) with
      (if Rlt_dec z (Q2R a) then onR p z else pieceR kinks (q :: pieces) z).
    cbn [kinksR]. destruct (Rlt_dec z (Q2R a)) as [L|L].
    + rewrite (kinks_below kinks q pieces z J3); [ring|]. destruct kinks as [|[k' b] kinks]; auto.
      destruct (a ?= b)%Q eqn:C; try discriminate. apply Qlt_alt, Qlt_Rlt in C. lra.
    + rewrite (IH q pieces z J3), (bend_at p q a z J1). ring.
Qed.

Lemma joins_length kinks : forall pieces, joins kinks pieces = true -> length pieces = S (length kinks).
Proof.
  induction kinks as [|[k a] kinks IH]; intros pieces J.
  - destruct pieces as [|p [|q pieces]]; simpl in J; try discriminate; auto.
  - destruct pieces as [|p pieces]; simpl in J; try discriminate. rewrite !andb_true_iff in J. simpl.
    rewrite (IH pieces); tauto.
Qed.

Lemma slopes_length r op kinks : forall pieces l, ad_slopes r op kinks pieces = Some l -> joins kinks pieces = true ->
  length l = length kinks.
Proof.
  induction kinks as [|[k a] kinks IH]; intros pieces l E J; simpl in E; [inversion E; auto|].
  destruct pieces as [|p pieces]; [discriminate J|]. simpl in J. rewrite !andb_true_iff in J.
  destruct (slope_at _ _ _ _ _ _); try discriminate. destruct (ad_slopes r op kinks pieces) as [l'|] eqn:E'; try discriminate.
  inversion E; subst. simpl. rewrite (IH pieces l' E'); tauto.
Qed.

Lemma kinkR_part a b z : kinkR 0 a (z - b) = if Rlt_dec z b then 0 else Q2R a * (z - b).
Proof. unfold kinkR. rewrite Q2R_0. destruct (Rlt_dec (z - b) 0), (Rlt_dec z b); lra. Qed.

Lemma add_curve_on p q a f k y m l m' g : wf m -> means m (Slot k) g -> means m (Slot y) f ->
  qz (curve p q) || negb (qz (bend p q a)) = true -> add_curve p q a k y m = (l, m') ->
  onward m m' /\ sums m' 0 l (fun x => Q2R (curve p q) / Q2R (bend p q a) * (g x * f x)).
Proof.
  intros Wf Hk Hy N E. unfold add_curve in E. destruct (qz (curve p q)) eqn:Z.
  - inversion E; subst. split; [apply onward_refl; auto|]. eapply sums_ext; [|apply sums_nil]. intro x. simpl.
    rewrite (qz_true _ Z). unfold Rdiv. ring.
  - destruct (write (Mul k y) m) as [j m1] eqn:E1. inversion E; subst. destruct (write_on _ _ _ _ Wf E1) as (A & B & C).
    split; auto. assert (Mj : means m' (Slot j) (fun x => g x * f x)).
    { split; auto. intro x. unfold den. rewrite C. simpl. rewrite <- (proj2 Hk x), <- (proj2 Hy x). auto. }
    eapply sums_ext; [|apply (sums_term m' 0 [] _ (qmul (curve p q) (Qinv (bend p q a))) j _ Mj (sums_nil m'))].
    intro x. simpl. simpl in N. apply negb_true_iff in N. apply qz_false in N. rewrite Q2R_mul, Q2R_inv; [unfold Rdiv; ring|].
    intro H. apply N. rewrite H. apply Q2R_0.
Qed.

Lemma sums_app m q l s l' s' : sums m q l s -> sums m 0 l' s' -> sums m q (l' ++ l) (fun x => s x + s' x).
Proof.
  intros [A1 A2] [B1 B2]. split; [intros t Ht; apply in_app_or in Ht as [Ht|Ht]; auto|]. intro x. rewrite <- A2, <- B2.
  clear. induction l' as [|[c k] l' IH]; simpl; [rewrite Q2R_0; ring|]. rewrite IH. ring.
Qed.

Lemma add_kinks_on i f kinks : forall p pieces ads m l m', wf m -> means m (Slot i) f -> joins kinks (p :: pieces) = true ->
  length ads = length kinks -> add_kinks i kinks p pieces ads m = (l, m') ->
  onward m m' /\ sums m' 0 l (fun x => kinksR kinks p pieces (f x)).
Proof.
  induction kinks as [|[k a] kinks IH]; intros p pieces ads m l m' Wf Hi J La E.
  - simpl in E. inversion E; subst. split; [apply onward_refl; auto|apply sums_nil].
  - simpl in J. destruct pieces as [|q pieces]; [rewrite !andb_true_iff in J; destruct J as [[J1 _] _]; discriminate|].
    rewrite !andb_true_iff in J. destruct J as [[[J1 J0] J2] J3].
    destruct ads as [|s ads]; [discriminate La|]. cbn [add_kinks] in E.
    destruct (write (Lin (qmul (-1) a) [(1%Q, i)]) m) as [y m1] eqn:E1.
    destruct (write (Kink y 0 (bend p q a) (qsub s (tangent p a))) m1) as [j m2] eqn:E2.
    destruct (add_curve p q a j y m2) as [t m3] eqn:E3.
    destruct (add_kinks i kinks q pieces ads m3) as [l4 m4] eqn:E4. inversion E; subst.
    destruct (write_on _ _ _ _ Wf E1) as (A & Ky & Vy). destruct (write_on _ _ _ _ (proj1 A) E2) as (B & Kj & Vj).
    pose proof (onward_trans _ _ _ A B) as AB.
    assert (My : means m1 (Slot y) (fun x => f x - Q2R a)).
    { split; auto. intro x. unfold den. rewrite Vy. simpl. rewrite Q2R_1, Q2R_mul, Q2R_m1.
      pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. ring. }
    assert (Mj : means m2 (Slot j) (fun x => if Rlt_dec (f x) (Q2R a) then 0 else Q2R (bend p q a) * (f x - Q2R a))).
    { split; auto. intro x. unfold den. rewrite Vj. simpl. pose proof (proj2 My x) as Hx. simpl in Hx. rewrite Hx.
      apply kinkR_part. }
    destruct (add_curve_on p q a _ j y m2 t m3 _ (proj1 B) Mj (means_on m1 m2 _ _ (proj1 A) B My) J0 E3) as [C S].
    pose proof (onward_trans _ _ _ AB C) as AC.
    destruct (IH q pieces ads m3 l4 m' (proj1 C) (means_on m m3 _ _ Wf AC Hi) J3) as [D S']; [simpl in La; lia|auto|].
    split; [apply (onward_trans m m3); auto|].
    pose proof (onward_trans _ _ _ C D) as CD.
    eapply sums_ext; [|apply (sums_term m' 0 _ _ 1 j _ (means_on m2 m' _ _ (proj1 B) CD Mj)
      (sums_app m' 0 _ _ _ _ S' (sums_on m3 m' _ _ _ (proj1 C) D S)))]. intro x. simpl. rewrite Q2R_1.
    unfold bendR. destruct (Rlt_dec (f x) (Q2R a)); [ring|]. apply orb_true_iff in J0 as [Z|Z].
    + rewrite (qz_true _ Z). unfold Rdiv. ring.
    + apply negb_true_iff in Z. apply qz_false in Z. field. auto.
Qed.

Lemma add_square_on p i f m l m' : wf m -> means m (Slot i) f -> add_square p i m = (l, m') ->
  onward m m' /\ sums m' 0 l (fun x => Q2R (c2 p) * (f x * f x)).
Proof.
  intros Wf Hi E. unfold add_square in E. destruct (qz (c2 p)) eqn:Z.
  - inversion E; subst. split; [apply onward_refl; auto|]. eapply sums_ext; [|apply sums_nil]. intro x. simpl.
    rewrite (qz_true _ Z). ring.
  - destruct (write (Mul i i) m) as [j m1] eqn:E1. inversion E; subst. destruct (write_on _ _ _ _ Wf E1) as (A & B & C).
    split; auto. assert (Mj : means m' (Slot j) (fun x => f x * f x)).
    { split; auto. intro x. unfold den. rewrite C. simpl. rewrite <- (proj2 Hi x). auto. }
    eapply sums_ext; [|apply (sums_term m' 0 [] _ (c2 p) j _ Mj (sums_nil m'))]. intro x. simpl. ring.
Qed.

Lemma general_on i f p pieces kinks ads m v m' : wf m -> means m (Slot i) f -> joins kinks (p :: pieces) = true ->
  length ads = length kinks -> general i kinks p pieces ads m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => pieceR kinks (p :: pieces) (f x)).
Proof.
  intros Wf Hi J La E. unfold general in E. destruct (add_kinks i kinks p pieces ads m) as [l m1] eqn:E1.
  destruct (add_square p i m1) as [t m2] eqn:E2. destruct (write (Lin (c0 p) ((c1 p, i) :: t ++ l)) m2) as [k m3] eqn:E3.
  inversion E; subst. destruct (add_kinks_on i f kinks _ _ _ _ _ _ Wf Hi J La E1) as [A S].
  destruct (add_square_on p i f m1 t m2 (proj1 A) (means_on m m1 _ _ Wf A Hi) E2) as [B S'].
  destruct (write_on _ _ _ _ (proj1 B) E3) as (C & K & V). pose proof (onward_trans _ _ _ A B) as AB.
  split; [apply (onward_trans m m2); auto|]. split; auto.
  intro x. unfold den. rewrite V, pieces_sum by auto. cbn [stepR linR].
  rewrite (linR_base (c0 p)), (proj2 (sums_app m2 0 _ _ _ _ (sums_on m1 m2 _ _ _ (proj1 A) B S) S') x).
  pose proof (proj2 (means_on m m2 _ _ Wf AB Hi) x) as Hx. simpl in Hx. rewrite Hx. unfold onR. ring.
Qed.

Lemma piece_on kinks pieces ads u f m v m' : wf m -> means m u f -> joins kinks pieces = true -> length ads = length kinks ->
  piece_num kinks pieces ads u m = Some (v, m') -> onward m m' /\ means m' v (fun x => pieceR kinks pieces (f x)).
Proof.
  intros Wf Hu J La E. destruct pieces as [|p pieces]; [destruct kinks as [|[]]; discriminate J|].
  unfold piece_num in E. destruct (slot_for u m) as [i m1] eqn:E1. destruct (slot_for_on _ _ _ _ _ Wf Hu E1) as [A Hi].
  assert (G : forall m', general i kinks p pieces ads m1 = Some (v, m') ->
    onward m m' /\ means m' v (fun x => pieceR kinks (p :: pieces) (f x))).
  { intros m2 E2. destruct (general_on i f p pieces kinks ads m1 v m2 (proj1 A) Hi J La E2) as [B M].
    split; [apply (onward_trans m m1); auto|auto]. }
  destruct kinks as [|[k a] [|k2 kinks]]; try (apply G; exact E).
  destruct pieces as [|q [|q2 pieces]]; try (apply G; exact E). destruct ads as [|s [|s2 ads]]; try discriminate La.
  destruct (qz a && through_0 p && through_0 q) eqn:Z; [|apply G; exact E].
  unfold through_0 in Z. rewrite !andb_true_iff in Z. destruct Z as [[Z1 [Z2 Z3]] [Z4 Z5]].
  apply qz_true in Z1, Z2, Z3, Z4, Z5.
  destruct (write (Kink i (c1 p) (c1 q) s) m1) as [j m2] eqn:E2. inversion E; subst.
  destruct (write_on _ _ _ _ (proj1 A) E2) as (B & K & V). split; [apply (onward_trans m m1); auto|]. split; auto.
  intro x. unfold den. rewrite V. simpl. pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. unfold onR, kinkR.
  rewrite Z1, Z2, Z3, Z4, Z5. destruct (Rlt_dec (f x) 0); ring.
Qed.

Lemma leaky_on s c u g v f m v' m' : wf m -> means m u g -> means m v f -> leaky_num s (c, u) v m = Some (v', m') ->
  onward m m' /\ means m' v' (fun x => leakyR (Q2R c * g x) (f x)).
Proof.
  intros Wf Hu Hv E. unfold leaky_num in E. destruct (slot_for v m) as [i m1] eqn:E1.
  destruct (slot_for_on _ _ _ _ _ Wf Hv E1) as [A Hi]. destruct (write (Kink i 0 1 s) m1) as [k m2] eqn:E2.
  destruct (write_on _ _ _ _ (proj1 A) E2) as (B & Kk & Vk).
  destruct (write (Lin 0 [(1%Q, i); ((-1)%Q, k)]) m2) as [j m3] eqn:E3.
  destruct (write_on _ _ _ _ (proj1 B) E3) as (C & Kj & Vj). cbn [fst snd] in E.
  pose proof (onward_trans _ _ _ A B) as AB. pose proof (onward_trans _ _ _ AB C) as AC.
  set (h := fun x => kinkR 0 1 (f x)).
  assert (Mk : means m2 (Slot k) h).
  { split; auto. intro x. unfold den, h. rewrite Vk. simpl. pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. auto. }
  assert (Mj : means m3 (Slot j) (fun x => f x - h x)).
  { split; auto. intro x. unfold den. rewrite Vj. simpl. rewrite Q2R_1, Q2R_0, Q2R_m1.
    pose proof (proj2 (means_on m1 m2 _ _ (proj1 A) B Hi) x) as Hx. simpl in Hx. rewrite Hx.
    pose proof (proj2 Mk x) as Hk. simpl in Hk. rewrite Hk. ring. }
  destruct (add_term c u (Slot j) 0 [(1%Q, k)] m3) as [[q l] m4] eqn:E4.
  assert (S0 : sums m3 0 [(1%Q, k)] (fun x => 0 + Q2R 1 * h x)).
  { apply sums_term; [apply (means_on m2 m3 _ _ (proj1 B) C Mk)|apply sums_nil]. }
  destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ _ (proj1 C) (means_on m m3 _ _ Wf AC Hu) Mj S0 E4) as [D S].
  inversion E as [E5]. destruct (end_sum_on _ _ _ _ _ _ (proj1 D) S E5) as [F M].
  split; [apply (onward_trans m m3); auto; apply (onward_trans m3 m4); auto|]. split; [apply M|]. intro x. rewrite (proj2 M x).
  unfold h, leakyR, kinkR. rewrite Q2R_0, Q2R_1. destruct (Rlt_dec (f x) 0); ring.
Qed.

(* {1 Steps} *)

Section Step.
Variables (D : done_) (done : pt -> list (list R)) (g : row -> machine -> option (num * machine)) (rowR : pt -> row -> R).
Hypothesis g_on : forall r m v m', wf m -> represents m D done -> g r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => rowR x r).

Lemma each_row_on (h : nat -> pt -> R) rows : forall k T m T' m', wf m -> represents m D done ->
  (forall f v, find f T = Some v -> means m v (h f)) ->
  (forall i r, nth_error rows i = Some r -> forall x, rowR x r = h (k + i)%nat x) ->
  each_row g rows k T m = Some (T', m') -> onward m m' /\ forall f v, find f T' = Some v -> means m' v (h f).
Proof.
  induction rows as [|r rows IH]; simpl; intros k T m T' m' Wf Hd Ht Hr E.
  - inversion E; subst. split; [apply onward_refl; auto|auto].
  - destruct (g r m) as [[v m1]|] eqn:Eg; try discriminate. destruct (g_on r m v m1 Wf Hd Eg) as [A M].
    destruct (IH (S k) (put k v T) m1 T' m' (proj1 A) (represents_on m m1 D done Wf A Hd)) as [B C]; auto.
    + intros f u F. destruct (find_put _ _ _ _ _ F) as [[E1 E2]|F'].
      * subst. split; [apply M|]. intro x. rewrite (proj2 M x), (Hr 0%nat r eq_refl x). f_equal. lia.
      * apply (means_on m); auto.
    + intros i r' N x. rewrite (Hr (S i) r' N x). f_equal. lia.
    + split; [apply (onward_trans m m1); auto|auto].
Qed.

Lemma rows_on rows m T' m' : wf m -> represents m D done -> each_row g rows 0 Empty m = Some (T', m') ->
  onward m m' /\ forall f v, find f T' = Some v -> means m' v (fun x => nth f (map (rowR x) rows) 0).
Proof.
  intros Wf Hd E. apply (each_row_on (fun f x => nth f (map (rowR x) rows) 0) rows 0 Empty m T' m'); auto.
  - intros f v F. destruct f; discriminate F.
  - intros i r N x. simpl. symmetry. apply nth_error_nth, map_nth_error, N.
Qed.
End Step.

Lemma step_on rl D done s m T m' : wf m -> represents m D done -> step_nums rl (stores ps) D s m = Some (T, m') ->
  onward m m' /\ forall f v, find f T = Some v -> means m' v (fun x => nth f (featuresR ps x (done x) s) 0).
Proof.
  intros Wf Hd E. destruct s as [rows|rows|op rows|op kinks pieces rows|op k rows]; cbn [step_nums] in E; simpl featuresR.
  - apply (rows_on D done (linear_num (stores ps) D) (fun x => linearR ps x (done x))) with (m := m); auto.
    intros; apply (linear_on D); auto.
  - apply (rows_on D done (product_num D) (fun x => productsR (done x))) with (m := m); auto.
    intros; apply (product_on D); auto.
  - destruct (tie_rule rl NoBrace op) as [[u beta]|]; try discriminate.
    apply (rows_on D done (window_num D u beta) (fun x => windowR (done x))) with (m := m); auto.
    intros; apply (window_on D done u beta); auto.
  - destruct (ad_slopes rl op kinks pieces) as [ads|] eqn:Ea; try discriminate.
    destruct (joins kinks pieces) eqn:J; try discriminate.
    refine (rows_on D done _ (fun x r => pieceR kinks pieces (sourceR (done x) (only r))) _ rows m T m' Wf Hd E).
    intros r m0 v m1 Wf0 Hd0 E0. cbv beta in E0. destruct (source_num D (only r)) as [u|] eqn:F; try discriminate.
    apply (piece_on kinks pieces ads u (fun x => sourceR (done x) (only r)) m0 v m1 Wf0); auto.
    + apply (source_means m0 D); auto.
    + apply (slopes_length rl op kinks pieces); auto.
  - destruct (leaky_slope rl op k) as [s|]; try discriminate.
    refine (rows_on D done _ (fun x r => leakyR (factorR ps x (weight_of r)) (sourceR (done x) (only r))) _ rows m T m' Wf Hd E).
    intros r m0 v m1 Wf0 Hd0 E0. cbv beta in E0. destruct (factor_num (stores ps) (weight_of r)) as [u|] eqn:Fu; try discriminate.
    destruct (source_num D (only r)) as [y|] eqn:F; try discriminate.
    exact (leaky_on s _ u _ y _ m0 v m1 Wf0 (factor_means m0 _ u Wf0 Fu) (source_means m0 D done _ y Hd0 F) E0).
Qed.

Lemma steps_on rl l : forall k D done m D' m', wf m -> represents m D done -> (forall x, length (done x) = k) ->
  (forall j T, find j D = Some T -> (j < k)%nat) -> steps_nums rl (stores ps) l k D m = Some (D', m') ->
  onward m m' /\ represents m' D' (fun x => fold_left (fun d s => d ++ [featuresR ps x d s]) l (done x)).
Proof.
  induction l as [|s l IH]; cbn [steps_nums fold_left]; intros k D done m D' m' Wf Hd Len Bel E.
  - inversion E; subst. split; [apply onward_refl; auto|auto].
  - destruct (step_nums rl (stores ps) D s m) as [[T m1]|] eqn:Es; try discriminate.
    destruct (step_on rl D done s m T m1 Wf Hd Es) as [A M].
    destruct (IH (S k) (put k T D) (fun x => done x ++ [featuresR ps x (done x) s]) m1 D' m' (proj1 A)) as [B C]; auto.
    + intros j T' f v F G. destruct (find_put _ _ _ _ _ F) as [[E1 E2]|F'].
      * subst. split; [apply (M f v G)|]. intro x. rewrite (proj2 (M f v G) x). f_equal.
        rewrite <- (Len x), app_nth2, Nat.sub_diag; auto.
      * pose proof (Bel j T' F') as Lt. destruct (represents_on m m1 D done Wf A Hd j T' f v F' G) as [K V]. split; auto.
        intro x. rewrite V. f_equal. rewrite app_nth1; auto. rewrite Len. auto.
    + intro x. rewrite app_length, Len. simpl. lia.
    + intros j T' F. destruct (find_put _ _ _ _ _ F) as [[E1 E2]|F']; [lia|]. specialize (Bel j T' F'). lia.
    + split; [apply (onward_trans m m1); auto|auto].
Qed.

(* {1 Samples} *)

Lemma outputs_on T (h : nat -> pt -> R) l : forall m ks m', wf m -> (forall f v, find f T = Some v -> means m v (h f)) ->
  outputs_of T l m = Some (ks, m') -> onward m m' /\ Forall2 (fun k f => means m' (Slot k) (h f)) ks l.
Proof.
  induction l as [|f l IH]; cbn [outputs_of]; intros m ks m' Wf H E.
  - inversion E; subst. split; [apply onward_refl; auto|constructor].
  - destruct (find f T) as [v|] eqn:F; try discriminate. destruct (slot_for v m) as [k m1] eqn:E1.
    destruct (outputs_of T l m1) as [[ks1 m2]|] eqn:E2; try discriminate. inversion E; subst.
    destruct (slot_for_on _ _ _ _ _ Wf (H f v F) E1) as [A K].
    destruct (IH m1 ks1 m' (proj1 A)) as [B L]; auto; [intros; apply (means_on m); auto|].
    split; [apply (onward_trans m m1); auto|]. constructor; auto. apply (means_on m1); auto. apply A.
Qed.

Variables (rl : rules) (t : tape).
Definition output_at (sample : list Q) (f : nat) (x : pt) : R :=
  nth f (nth (last_step t) (fold_left (fun d s => d ++ [featuresR ps x d s]) (steps t) [map Q2R sample]) []) 0.

Lemma sample_on sample m ks m' : wf m -> sample_nums rl (stores ps) t sample m = Some (ks, m') ->
  onward m m' /\ Forall2 (fun k f => means m' (Slot k) (output_at sample f)) ks (last_features t).
Proof.
  intros Wf E. unfold sample_nums in E.
  destruct (steps_nums rl (stores ps) (steps t) 1 _ m) as [[D m1]|] eqn:Es; try discriminate.
  destruct (find (last_step t) D) as [T|] eqn:F; try discriminate.
  set (D0 := put 0 (load_from (map Const sample) 0 Empty) Empty) in *.
  assert (Rep : represents m D0 (fun _ => [map Q2R sample])).
  { intros k T' f v F' G. destruct (find_put _ _ _ _ _ F') as [[E1 E2]|F2]; [|destruct k; discriminate F2]. subst. simpl.
    destruct (load_find _ _ _ _ _ G) as [[i [I1 [I2 I3]]]|F3]; [|destruct f; discriminate F3]. simpl in I2. subst i.
    rewrite map_length in I1. destruct (nth_error sample f) as [q|] eqn:N; [|apply nth_error_None in N; lia].
    rewrite (map_nth_error Const f sample N) in I3. inversion I3; subst. split; auto. intro x. simpl.
    symmetry. apply nth_error_nth, map_nth_error, N. }
  assert (Bel : forall j T', find j D0 = Some T' -> (j < 1)%nat).
  { intros j T' F'. destruct (find_put _ _ _ _ _ F') as [[E1 E2]|F2]; [lia|destruct j; discriminate F2]. }
  destruct (steps_on rl (steps t) 1 D0 (fun _ => [map Q2R sample]) m D m1 Wf Rep (fun _ => eq_refl) Bel Es) as [A H].
  destruct (outputs_on T (output_at sample) (last_features t) m1 ks m' (proj1 A)) as [B K]; auto.
  - intros f v G. apply (H (last_step t) T f v F G).
  - split; [apply (onward_trans m m1); auto|auto].
Qed.

Lemma samples_on l : forall m ks m', wf m -> samples_nums rl (stores ps) t l m = Some (ks, m') -> onward m m' /\
  Forall2 (fun k h => means m' (Slot k) h) ks (flat_map (fun q => map (output_at q) (last_features t)) l).
Proof.
  induction l as [|q l IH]; cbn [samples_nums flat_map]; intros m ks m' Wf E.
  - inversion E; subst. split; [apply onward_refl; auto|constructor].
  - destruct (sample_nums rl (stores ps) t q m) as [[k1 m1]|] eqn:E1; try discriminate.
    destruct (samples_nums rl (stores ps) t l m1) as [[k2 m2]|] eqn:E2; try discriminate. inversion E; subst.
    destruct (sample_on q m k1 m1 Wf E1) as [A K1]. destruct (IH m1 k2 m' (proj1 A) E2) as [B K2].
    split; [apply (onward_trans m m1); auto|]. apply Forall2_app; auto. clear -K1 B A. induction K1; simpl; constructor; auto.
    apply (means_on m1); auto. apply A.
Qed.
End Rows.
End Machine.

(* {1 The program of a tape} *)

Lemma places_fit varies l : forall first p at_ qs, nth p (places varies first l) (None, []) = (Some at_, qs) ->
  (at_ + length qs <= first + length (flat_map (fun p : string * list Q => if varies (fst p) then snd p else []) l))%nat.
Proof.
  induction l as [|[name q] l IH]; intros first p at_ qs H; simpl in *; [destruct p; discriminate|].
  destruct (varies name) eqn:V; rewrite ?app_length; destruct p as [|p]; simpl in H.
  - inversion H; subst. lia.
  - specialize (IH _ _ _ _ H). lia.
  - discriminate.
  - specialize (IH _ _ _ _ H). simpl. lia.
Qed.

Theorem unroll_value rl varies t P outs : unroll rl varies t = Some (P, outs) ->
  length outs = (length (samples t) * length (last_features t))%nat /\
  forall x j, (j < length outs)%nat -> value (length (stored varies t)) P outs x j = tape_value varies t x j.
Proof.
  unfold unroll. set (ps := places varies 0 (parameters t)). set (n := length (stored varies t)).
  destruct (samples_nums rl (stores ps) t (samples t) ([], n)) as [[ks [code c]]|] eqn:E; try discriminate.
  intro H. inversion H; subst. assert (Wf : wf n ([], n)) by (unfold wf; simpl; lia).
  assert (Fit : forall p first l, nth p ps (None, []) = (Some first, l) -> (first + length l <= n)%nat).
  { intros p first l N. apply (places_fit varies (parameters t) 0 p first l N). }
  destruct (samples_on n ps Fit rl t (samples t) _ _ _ Wf E) as [_ K]. split.
  { transitivity (length (flat_map (fun q => map (output_at ps t q) (last_features t)) (samples t))).
    - clear -K. induction K; simpl; auto.
    - clear. generalize (samples t). induction l as [|q l IH]; simpl; auto. rewrite app_length, map_length, IH. auto. }
  intros x j Hj.
  unfold value, tape_value. fold ps. set (hs := flat_map (fun q => map (output_at ps t q) (last_features t)) (samples t)) in *.
  assert (Ev : flat_map (sampleR ps x t) (samples t) = map (fun h => h x) hs).
  { unfold hs. clear. generalize (samples t). induction l as [|q l IH]; simpl; [reflexivity|].
    rewrite map_app, map_map, <- IH. reflexivity. }
  rewrite Ev. clear Ev E Fit Wf H. change (runR (map x (seq 0 n)) (program_of code)) with (run n x (code, c)).
  revert j Hj. induction K as [|k h ks hs' Kh Ks IH]; intros [|j] Hj; simpl in *; try lia.
  - apply (proj2 Kh x).
  - apply IH. lia.
Qed.
