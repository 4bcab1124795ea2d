(* The program of a tape computes what the tape means. *)
From Coq Require Import QArith Qreals Reals Lra Lia String List Bool.
From Clarke Require Import Space Numbers Program Order Text Store Gate Tape.
Import ListNotations.
Open Scope R_scope.

Lemma load_find {A} (l : list A) : forall k T j y, find j (load_from l k T) = Some y ->
  (exists i, (i < length l)%nat /\ j = (k + i)%nat /\ nth_error l i = Some y) \/ find j T = Some y.
Proof.
  induction l as [|x l IH]; simpl; intros k T j y H; auto. destruct (IH _ _ _ _ H) as [[i [I1 [I2 I3]]]|F].
  - left. exists (S i). simpl. repeat split; auto; lia.
  - destruct (find_put _ _ _ _ _ F) as [[E1 E2]|E]; auto. subst. left. exists 0%nat. simpl. repeat split; auto; lia.
Qed.

Lemma linR_base c l env : linR c l env = Q2R c + linR 0 l env.
Proof. induction l as [|[q k] l IH]; simpl; [rewrite Q2R_0|rewrite IH]; ring. Qed.

Lemma linR_app_env c l env more : (forall t, In t l -> (snd t < length env)%nat) -> linR c l (env ++ more) = linR c l env.
Proof.
  induction l as [|[q k] l IH]; simpl; intro H; auto. rewrite IH by auto. rewrite app_nth1; auto.
  apply (H (q, k)). auto.
Qed.

Lemma dotR_app_env l env more : (forall t, In t l -> (fst (snd t) < length env)%nat /\ (snd (snd t) < length env)%nat) ->
  dotR l (env ++ more) = dotR l env.
Proof.
  induction l as [|[q [i j]] l IH]; simpl; intro H; auto. destruct (H (q, (i, j)) (or_introl eq_refl)). simpl in *.
  rewrite IH by auto. rewrite !app_nth1; auto.
Qed.

Arguments write : simpl never.

Section Machine.
Variables ex log root : R -> R.
Variable n : nat.
Notation gateR := (gateR ex log root).

Lemma runG_app P : forall env P', runG ex log root env (P ++ P') = runG ex log root (runG ex log root env P) P'.
Proof. induction P as [|g P IH]; simpl; auto. Qed.

Lemma runG_prefix P : forall env, exists rest, runG ex log root env P = env ++ rest /\ length rest = length P.
Proof.
  induction P as [|g P IH]; intro env; simpl; [exists []; rewrite app_nil_r; auto|].
  destruct (IH (env ++ [gateR env g])) as [rest [E L]]. exists (gateR env g :: rest). rewrite E, <- app_assoc. simpl. auto.
Qed.

Definition run x (m : machine) : list R := runG ex log root (map x (seq 0 n)) (rev (fst m)).
Definition wf (m : machine) := snd m = (n + length (fst m))%nat.
(* m' goes on from m. *)
Definition onward (m m' : machine) := wf m' /\ (snd m <= snd m')%nat /\ forall x, exists more, run x m' = run x m ++ more.
Definition den x m v : R := match v with Const q => Q2R q | Slot k => nth k (run x m) 0 end.
Definition means m v (f : pt -> R) :=
  (match v with Const _ => True | Slot k => (k < snd m)%nat end) /\ forall x, den x m v = f x.

Lemma run_length x m : wf m -> length (run x m) = snd m.
Proof.
  intro H. unfold run. destruct (runG_prefix (rev (fst m)) (map x (seq 0 n))) as [rest [E L]].
  rewrite E, app_length, map_length, seq_length, L, rev_length. auto.
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
  forall x, nth k (run x m') 0 = gateR (run x m) o.
Proof.
  unfold write. intros Wf E. inversion E; subst. unfold wf in *. simpl in *.
  assert (R : forall x, run x (o :: fst m, S (snd m)) = run x m ++ [gateR (run x m) o]).
  { intro x. unfold run. simpl fst. simpl rev. rewrite runG_app. auto. }
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

Lemma sums_nil m : sums m 0 [] (fun _ => 0).
Proof. split; [intros t []|]. intro. simpl. apply Q2R_0. Qed.

(* With products. *)
Definition amounts m (a : amount) (s : pt -> R) := let '(q, l, p) := a in (forall t, In t l -> (snd t < snd m)%nat) /\
  (forall t, In t p -> (fst (snd t) < snd m)%nat /\ (snd (snd t) < snd m)%nat) /\
  forall x, linR q l (run x m) + dotR p (run x m) = s x.

Lemma amounts_on m m' a s : wf m -> onward m m' -> amounts m a s -> amounts m' a s.
Proof.
  destruct a as [[q l] p]. intros Wf (_ & L & E) (H1 & H2 & H3). split; [intros t Ht; specialize (H1 t Ht); lia|].
  split; [intros t Ht; specialize (H2 t Ht); lia|]. intro x. rewrite <- H3. destruct (E x) as [more Em]. rewrite Em.
  rewrite linR_app_env, dotR_app_env; auto; intros t Ht; rewrite run_length; auto.
Qed.

Lemma amounts_ext m a s s' : (forall x, s x = s' x) -> amounts m a s -> amounts m a s'.
Proof. destruct a as [[q l] p]. intros E (H1 & H2 & H3). split; auto. split; auto. intro x. rewrite <- E. auto. Qed.

Lemma amounts_of m q l s : sums m q l s -> amounts m (q, l, []) s.
Proof. intros [H1 H2]. split; auto. split; [intros t []|]. intro x. rewrite H2. simpl. ring. Qed.

Lemma add_term_on fused c u v a m f g s a' m' : wf m -> means m u f -> means m v g -> amounts m a s ->
  add_term fused c u v a m = (a', m') -> onward m m' /\ amounts m' a' (fun x => s x + Q2R c * (f x * g x)).
Proof.
  destruct a as [[q l] p]. intros Wf Hu Hv (H1 & H2 & H3) E.
  assert (Term : forall k h q0, means m (Slot k) h -> amounts m (q, (q0, k) :: l, p) (fun x => s x + Q2R q0 * h x)).
  { intros k h q0 [K Kh]. split; [intros t [T|T]; [subst; auto|auto]|]. split; auto. intro x. simpl. rewrite <- H3.
    specialize (Kh x). simpl in Kh. rewrite Kh. ring. }
  destruct u as [b|i], v as [b'|j]; unfold add_term in E; cbv beta iota in E.
  - inversion E; subst. split; [apply onward_refl; auto|]. split; auto. split; auto. intro x. rewrite <- H3.
    rewrite <- (proj2 Hu x), <- (proj2 Hv x). simpl. rewrite (linR_base (qadd _ _)), (linR_base q), Q2R_add, !Q2R_mul. ring.
  - destruct (qz (qmul c b)) eqn:Z; inversion E; subst; (split; [apply onward_refl; auto|]).
    + apply (amounts_ext _ _ s); [|split; auto]. intro x. rewrite <- (proj2 Hu x). simpl. apply qz_true in Z.
      rewrite Q2R_mul in Z.
      rewrite <- Rmult_assoc, Z. ring.
    + apply (amounts_ext _ _ (fun x => s x + Q2R (qmul c b) * g x)); [|apply Term; auto].
      intro x. rewrite <- (proj2 Hu x). simpl. rewrite Q2R_mul. ring.
  - destruct (qz (qmul c b')) eqn:Z; inversion E; subst; (split; [apply onward_refl; auto|]).
    + apply (amounts_ext _ _ s); [|split; auto]. intro x. rewrite <- (proj2 Hv x). simpl. apply qz_true in Z.
      rewrite Q2R_mul in Z.
      rewrite (Rmult_comm (f x)), <- Rmult_assoc, Z. ring.
    + apply (amounts_ext _ _ (fun x => s x + Q2R (qmul c b') * f x)); [|apply Term; auto].
      intro x. rewrite <- (proj2 Hv x). simpl. rewrite Q2R_mul. ring.
  - destruct (qz c) eqn:Z; [|destruct fused].
    + inversion E; subst. split; [apply onward_refl; auto|]. apply (amounts_ext _ _ s); [|split; auto].
      intro x. rewrite (qz_true _ Z). ring.
    + inversion E; subst. split; [apply onward_refl; auto|]. destruct Hu as [Ku Hu], Hv as [Kv Hv]. split; auto. split.
      * intros t [T|T]; [subst; auto|auto].
      * intro x. simpl. rewrite <- H3. specialize (Hu x). specialize (Hv x). simpl in Hu, Hv. rewrite Hu, Hv. ring.
    + destruct (write (Plain (Mul i j)) m) as [k m1] eqn:Ew. inversion E; subst.
      destruct (write_on _ _ _ _ Wf Ew) as (A & B & C). split; auto.
      assert (Am : amounts m' (q, l, p) s) by (apply (amounts_on m); auto; split; auto). destruct Am as (A1 & A2 & A3).
      split; [intros t [T|T]; [subst; auto|auto]|]. split; auto. intro x. cbn [linR]. rewrite C. simpl.
      rewrite <- A3, <- (proj2 Hu x), <- (proj2 Hv x). simpl. ring.
Qed.

Lemma nothing_is m : amounts m nothing (fun _ => 0).
Proof. apply amounts_of, sums_nil. Qed.

Lemma end_sum_on a m s v m' : wf m -> amounts m a s -> end_sum (a, m) = (v, m') -> onward m m' /\ means m' v s.
Proof.
  destruct a as [[q l] p]. intros Wf (H1 & H2 & H3) E. unfold end_sum in E. destruct l as [|t l], p as [|t' p].
  - inversion E; subst. split; [apply onward_refl; auto|]. split; auto. intro x. simpl. rewrite <- H3. simpl. ring.
  - destruct (write (Dot q [] (t' :: p)) m) as [k m1] eqn:Ew. inversion E; subst.
    destruct (write_on _ _ _ _ Wf Ew) as (A & B & C). split; auto. split; auto. intro x. unfold den. rewrite C, <- H3. auto.
  - destruct (write (Plain (Lin q (t :: l))) m) as [k m1] eqn:Ew. inversion E; subst.
    destruct (write_on _ _ _ _ Wf Ew) as (A & B & C). split; auto. split; auto. intro x. unfold den. rewrite C, <- H3.
    cbn [Gate.gateR stepR dotR]. ring.
  - destruct (write (Dot q (t :: l) (t' :: p)) m) as [k m1] eqn:Ew. inversion E; subst.
    destruct (write_on _ _ _ _ Wf Ew) as (A & B & C). split; auto. split; auto. intro x. unfold den. rewrite C, <- H3. auto.
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
  intro Hk. unfold run. destruct (runG_prefix (rev (fst m)) (map x (seq 0 n))) as [rest [E _]].
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

Variable fused : bool.
Notation add_terms := (add_terms fused).
Notation add_products := (add_products fused).
Notation linear_num := (linear_num fused).
Notation product_num := (product_num fused).
Notation add_quotients := (add_quotients fused).
Notation dividing_num := (dividing_num fused).
Notation leaky_num := (leaky_num fused).
Notation over_root_num := (over_root_num fused).
Notation step_nums := (step_nums fused).
Notation steps_nums := (steps_nums fused).
Notation sample_nums := (sample_nums fused).
Notation samples_nums := (samples_nums fused).

Lemma add_terms_on D done r : forall a m s a' m', wf m -> represents m D done -> amounts m a s ->
  add_terms (stores ps) D r a m = Some (a', m') ->
  onward m m' /\ amounts m' a' (fun x => s x + linearR ps x (done x) r).
Proof.
  induction r as [|[c sc] r IH]; cbn [Tape.add_terms]; intros a m s a' m' Wf Hd Hs E.
  - inversion E; subst. split; [apply onward_refl; auto|]. apply (amounts_ext _ _ s); auto. intro; simpl; ring.
  - destruct (factor_num (stores ps) c) as [u|] eqn:Fu; try discriminate.
    destruct (source_num D sc) as [v|] eqn:Fv; try discriminate.
    destruct (add_term fused (fst c) u v a m) as [a1 m1] eqn:Ea.
    pose proof (factor_means m c u Wf Fu) as Mu. pose proof (source_means m D done sc v Hd Fv) as Mv.
    destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ Wf Mu Mv Hs Ea) as [A B].
    destruct (IH _ _ _ _ _ (proj1 A) (represents_on m m1 D done Wf A Hd) B E) as [C S].
    split; [apply (onward_trans m m1); auto|]. eapply amounts_ext;
      [|exact S]. intro x. unfold factorR. simpl. unfold factorR. ring.
Qed.

Lemma linear_on D done r m v m' : wf m -> represents m D done -> linear_num (stores ps) D r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => linearR ps x (done x) r).
Proof.
  intros Wf Hd E. unfold Tape.linear_num in E. destruct (add_terms (stores ps) D r nothing m) as [[a m1]|] eqn:Ea;
    try discriminate.
  destruct (add_terms_on D done r _ _ _ _ _ Wf Hd (nothing_is m) Ea) as [A B]. inversion E as [E'].
  destruct (end_sum_on a m1 _ v m' (proj1 A) B E') as [C M]. split; [apply (onward_trans m m1); auto|].
  split; [apply M|]. intro x. rewrite (proj2 M x). ring.
Qed.

Lemma inverse_on u m f v m' : wf m -> means m u f -> inverse_num u m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => / f x).
Proof.
  intros Wf M E. destruct u as [q|k]; cbn [inverse_num] in E.
  - destruct (qz q) eqn:Z; inversion E; subst. split; [apply onward_refl; auto|]. split; auto. intro x. simpl.
    rewrite <- (proj2 M x). simpl. apply Q2R_inv. apply qz_false in Z. intro H. apply Z. rewrite (Qeq_eqR _ _ H). apply Q2R_0.
  - destruct (write (Fun Inverse k) m) as [i m1] eqn:E1. inversion E; subst. destruct (write_on _ _ _ _ Wf E1) as (A & B & C).
    split; auto. split; auto. intro x. unfold den. rewrite C. simpl. rewrite <- (proj2 M x). auto.
Qed.

Lemma add_quotients_on D done r : forall a m s a' m', wf m -> represents m D done -> amounts m a s ->
  add_quotients (stores ps) D r a m = Some (a', m') ->
  onward m m' /\ amounts m' a' (fun x => s x + dividingR ps x (done x) r).
Proof.
  induction r as [|[c sc] r IH]; cbn [Tape.add_quotients]; intros a m s a' m' Wf Hd Hs E.
  - inversion E; subst. split; [apply onward_refl; auto|]. apply (amounts_ext _ _ s); auto. intro; simpl; ring.
  - destruct (factor_num (stores ps) c) as [u|] eqn:Fu; try discriminate.
    destruct (source_num D sc) as [v|] eqn:Fv; try discriminate.
    destruct (inverse_num u m) as [[i m1]|] eqn:Ei; try discriminate.
    destruct (add_term fused (fst c) i v a m1) as [a1 m2] eqn:Ea.
    destruct (inverse_on u m _ i m1 Wf (factor_means m c u Wf Fu) Ei) as [A Mi].
    pose proof (source_means m1 D done sc v (represents_on m m1 D done Wf A Hd) Fv) as Mv.
    destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ (proj1 A) Mi Mv (amounts_on m m1 _ _ Wf A Hs) Ea) as [B S].
    pose proof (onward_trans _ _ _ A B) as AB.
    destruct (IH _ _ _ _ _ (proj1 B) (represents_on m m2 D done Wf AB Hd) S E) as [C S'].
    split; [apply (onward_trans m m2); auto|]. eapply amounts_ext; [|exact S']. intro x. simpl. unfold quotientR.
    destruct (snd c) as [e|]; [ring|rewrite Rinv_1; ring].
Qed.

Lemma dividing_on D done r m v m' : wf m -> represents m D done -> dividing_num (stores ps) D r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => dividingR ps x (done x) r).
Proof.
  intros Wf Hd E. unfold Tape.dividing_num in E. destruct (add_quotients (stores ps) D r nothing m) as [[a m1]|] eqn:Ea;
    try discriminate.
  destruct (add_quotients_on D done r _ _ _ _ _ Wf Hd (nothing_is m) Ea) as [A B]. inversion E as [E'].
  destruct (end_sum_on a m1 _ v m' (proj1 A) B E') as [C M]. split; [apply (onward_trans m m1); auto|].
  split; [apply M|]. intro x. rewrite (proj2 M x). ring.
Qed.

Lemma add_products_on D done : forall r a m s a' m', wf m -> represents m D done -> amounts m a s ->
  add_products D r a m = Some (a', m') -> onward m m' /\ amounts m' a' (fun x => s x + productsR (done x) r).
Proof.
  assert (G : forall len r, (length r <= len)%nat -> forall a m s a' m', wf m -> represents m D done -> amounts m a s ->
    add_products D r a m = Some (a', m') -> onward m m' /\ amounts m' a' (fun x => s x + productsR (done x) r)).
  { induction len as [|len IH]; intros r Len a m s a' m' Wf Hd Hs E.
    - destruct r; [|simpl in Len; lia]. simpl in *. inversion E; subst. split; [apply onward_refl; auto|].
      apply (amounts_ext _ _ s); auto. intro; ring.
    - destruct r as [|[c y] [|[c' z] r]]; cbn [Tape.add_products] in E; try discriminate.
      + inversion E; subst. split; [apply onward_refl; auto|]. apply (amounts_ext _ _ s); auto. intro; simpl; ring.
      + destruct (source_num D y) as [u|] eqn:Fu; try discriminate. destruct (source_num D z) as [v|] eqn:Fv; try discriminate.
        destruct (add_term fused 1 u v a m) as [a1 m1] eqn:Ea.
        pose proof (source_means m D done y u Hd Fu) as Mu. pose proof (source_means m D done z v Hd Fv) as Mv.
        destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ Wf Mu Mv Hs Ea) as [A B].
        destruct (IH r ltac:(simpl in Len; lia) _ _ _ _ _ (proj1 A) (represents_on m m1 D done Wf A Hd) B E) as [C S].
        split; [apply (onward_trans m m1); auto|]. eapply amounts_ext; [|exact S]. intro x. simpl.
        rewrite Q2R_1. ring. }
  intros r. apply (G (length r) r (le_n _)).
Qed.

Lemma product_on D done r m v m' : wf m -> represents m D done -> product_num D r m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => productsR (done x) r).
Proof.
  intros Wf Hd E. unfold Tape.product_num in E. destruct (add_products D r nothing m) as [[a m1]|] eqn:Ea; try discriminate.
  destruct (add_products_on D done r _ _ _ _ _ Wf Hd (nothing_is m) Ea) as [A B]. inversion E as [E'].
  destruct (end_sum_on a m1 _ v m' (proj1 A) B E') as [C M]. split; [apply (onward_trans m m1); auto|].
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
  destruct (write (Plain (Kth 1 ks u beta)) m1) as [k m2] eqn:E2. inversion E; subst.
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
    rewrite !andb_true_iff in J. destruct J as [[J1 J2] J3].
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
  destruct (slope_of _ _ _ _ _ _); try discriminate. destruct (ad_slopes r op kinks pieces) as [l'|] eqn:E'; try discriminate.
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
  - destruct (write (Plain (Mul k y)) m) as [j m1] eqn:E1. inversion E; subst. destruct (write_on _ _ _ _ Wf E1) as (A & B & C).
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
    rewrite !andb_true_iff in J. destruct J as [[J1 J2] J3].
    destruct ads as [|s ads]; [discriminate La|]. cbn [add_kinks] in E.
    destruct (write (Plain (Lin (qmul (-1) a) [(1%Q, i)])) m) as [y m1] eqn:E1.
    destruct (write_on _ _ _ _ Wf E1) as (A & Ky & Vy).
    assert (My : means m1 (Slot y) (fun x => f x - Q2R a)).
    { split; auto. intro x. unfold den. rewrite Vy. simpl. rewrite Q2R_1, Q2R_mul, Q2R_m1.
      pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. ring. }
    destruct (negb (qz (curve p q)) && qz (bend p q a)) eqn:Sm.
    { apply andb_true_iff in Sm as [_ Z]. apply qz_true in Z. destruct (write (Fun SquareAbove y) m1) as [j m2] eqn:E2.
      destruct (add_kinks i kinks q pieces ads m2) as [l4 m4] eqn:E4. inversion E; subst.
      destruct (write_on _ _ _ _ (proj1 A) E2) as (B & Kj & Vj). pose proof (onward_trans _ _ _ A B) as AB.
      assert (Mj : means m2 (Slot j) (fun x => applied ex log root SquareAbove (f x - Q2R a))).
      { split; auto. intro x. unfold den. rewrite Vj. cbn [Gate.gateR]. pose proof (proj2 My x) as Hx. simpl in Hx.
        rewrite Hx. auto. }
      destruct (IH q pieces ads m2 l4 m' (proj1 B) (means_on m m2 _ _ Wf AB Hi) J3) as [D S']; [simpl in La; lia|auto|].
      split; [apply (onward_trans m m2); auto|].
      eapply sums_ext; [|apply (sums_term m' 0 l4 _ (curve p q) j _ (means_on m2 m' _ _ (proj1 B) D Mj) S')]. intro x. simpl.
      unfold bendR. rewrite Z. destruct (Rlt_dec (f x - Q2R a) 0), (Rlt_dec (f x) (Q2R a)); try lra; ring. }
    assert (J0 : qz (curve p q) || negb (qz (bend p q a)) = true).
    { destruct (qz (curve p q)), (qz (bend p q a)); auto. }
    destruct (write (Plain (Kink y 0 (bend p q a) (qsub s (tangent p a)))) m1) as [j m2] eqn:E2.
    destruct (add_curve p q a j y m2) as [t m3] eqn:E3.
    destruct (add_kinks i kinks q pieces ads m3) as [l4 m4] eqn:E4. inversion E; subst.
    destruct (write_on _ _ _ _ (proj1 A) E2) as (B & Kj & Vj).
    pose proof (onward_trans _ _ _ A B) as AB.
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
  - destruct (write (Plain (Mul i i)) m) as [j m1] eqn:E1. inversion E; subst. destruct (write_on _ _ _ _ Wf E1) as (A & B & C).
    split; auto. assert (Mj : means m' (Slot j) (fun x => f x * f x)).
    { split; auto. intro x. unfold den. rewrite C. simpl. rewrite <- (proj2 Hi x). auto. }
    eapply sums_ext; [|apply (sums_term m' 0 [] _ (c2 p) j _ Mj (sums_nil m'))]. intro x. simpl. ring.
Qed.

Lemma general_on i f p pieces kinks ads m v m' : wf m -> means m (Slot i) f -> joins kinks (p :: pieces) = true ->
  length ads = length kinks -> general i kinks p pieces ads m = Some (v, m') ->
  onward m m' /\ means m' v (fun x => pieceR kinks (p :: pieces) (f x)).
Proof.
  intros Wf Hi J La E. unfold general in E. destruct (add_kinks i kinks p pieces ads m) as [l m1] eqn:E1.
  destruct (add_square p i m1) as [t m2] eqn:E2. destruct (write (Plain (Lin (c0 p) ((c1 p,
    i) :: t ++ l))) m2) as [k m3] eqn:E3.
  inversion E; subst. destruct (add_kinks_on i f kinks _ _ _ _ _ _ Wf Hi J La E1) as [A S].
  destruct (add_square_on p i f m1 t m2 (proj1 A) (means_on m m1 _ _ Wf A Hi) E2) as [B S'].
  destruct (write_on _ _ _ _ (proj1 B) E3) as (C & K & V). pose proof (onward_trans _ _ _ A B) as AB.
  split; [apply (onward_trans m m2); auto|]. split; auto.
  intro x. unfold den. rewrite V, pieces_sum by auto. cbn [Gate.gateR stepR linR].
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
  destruct (write (Plain (Kink i (c1 p) (c1 q) s)) m1) as [j m2] eqn:E2. inversion E; subst.
  destruct (write_on _ _ _ _ (proj1 A) E2) as (B & K & V). split; [apply (onward_trans m m1); auto|]. split; auto.
  intro x. unfold den. rewrite V. simpl. pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. unfold onR, kinkR.
  rewrite Z1, Z2, Z3, Z4, Z5. destruct (Rlt_dec (f x) 0); ring.
Qed.

Lemma leaky_on s c u g v f m v' m' : wf m -> means m u g -> means m v f -> leaky_num s (c, u) v m = Some (v', m') ->
  onward m m' /\ means m' v' (fun x => leakyR (Q2R c * g x) (f x)).
Proof.
  intros Wf Hu Hv E. unfold Tape.leaky_num in E. destruct (slot_for v m) as [i m1] eqn:E1.
  destruct (slot_for_on _ _ _ _ _ Wf Hv E1) as [A Hi]. destruct (write (Plain (Kink i 0 1 s)) m1) as [k m2] eqn:E2.
  destruct (write_on _ _ _ _ (proj1 A) E2) as (B & Kk & Vk).
  destruct (write (Plain (Lin 0 [(1%Q, i); ((-1)%Q, k)])) m2) as [j m3] eqn:E3.
  destruct (write_on _ _ _ _ (proj1 B) E3) as (C & Kj & Vj). cbn [fst snd] in E.
  pose proof (onward_trans _ _ _ A B) as AB. pose proof (onward_trans _ _ _ AB C) as AC.
  set (h := fun x => kinkR 0 1 (f x)).
  assert (Mk : means m2 (Slot k) h).
  { split; auto. intro x. unfold den, h. rewrite Vk. simpl. pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. auto. }
  assert (Mj : means m3 (Slot j) (fun x => f x - h x)).
  { split; auto. intro x. unfold den. rewrite Vj. simpl. rewrite Q2R_1, Q2R_0, Q2R_m1.
    pose proof (proj2 (means_on m1 m2 _ _ (proj1 A) B Hi) x) as Hx. simpl in Hx. rewrite Hx.
    pose proof (proj2 Mk x) as Hk. simpl in Hk. rewrite Hk. ring. }
  destruct (add_term fused c u (Slot j) (0%Q, [(1%Q, k)], []) m3) as [a m4] eqn:E4.
  assert (S0 : amounts m3 (0%Q, [(1%Q, k)], []) (fun x => 0 + Q2R 1 * h x)).
  { apply amounts_of, sums_term; [apply (means_on m2 m3 _ _ (proj1 B) C Mk)|apply sums_nil]. }
  destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ (proj1 C) (means_on m m3 _ _ Wf AC Hu) Mj S0 E4) as [D S].
  inversion E as [E5]. destruct (end_sum_on _ _ _ _ _ (proj1 D) S E5) as [F M].
  split; [apply (onward_trans m m3); auto; apply (onward_trans m3 m4); auto|]. split; [apply M|]. intro x. rewrite (proj2 M x).
  unfold h, leakyR, kinkR. rewrite Q2R_0, Q2R_1. destruct (Rlt_dec (f x) 0); ring.
Qed.

Lemma over_root_on eps c u g v f m v' m' : wf m -> means m u g -> means m v f ->
  over_root_num eps c u v m = Some (v', m') -> onward m m' /\ means m' v' (fun x => f x * / root (Q2R eps + Q2R c * g x)).
Proof.
  intros Wf Hu Hv E. unfold Tape.over_root_num in E. destruct (add_term fused c u (Const 1) (eps, [], []) m) as [a m0] eqn:E0.
  assert (S0 : amounts m (eps, [], []) (fun _ => Q2R eps)) by (apply amounts_of; split; [intros t []|auto]).
  assert (One_ : means m (Const 1) (fun _ => 1)) by (split; auto; intro; apply Q2R_1).
  destruct (add_term_on _ _ _ _ _ _ _ _ _ _ _ Wf Hu One_ S0 E0) as [A0 S]. destruct (end_sum (a, m0)) as [y m1] eqn:E1.
  destruct (end_sum_on _ _ _ _ _ (proj1 A0) S E1) as [A1 M1]. destruct (slot_for y m1) as [k m2] eqn:E2.
  destruct (slot_for_on _ _ _ _ _ (proj1 A1) M1 E2) as [A2 M2]. destruct (write (Fun Root k) m2) as [r m3] eqn:E3.
  destruct (write_on _ _ _ _ (proj1 A2) E3) as (A3 & K3 & V3). destruct (write (Fun Inverse r) m3) as [i m4] eqn:E4.
  destruct (write_on _ _ _ _ (proj1 A3) E4) as (A4 & K4 & V4). destruct (slot_for v m4) as [j m5] eqn:E5.
  pose proof (onward_trans _ _ _ A0 (onward_trans _ _ _ A1 (onward_trans _ _ _ A2 (onward_trans _ _ _ A3 A4)))) as A04.
  destruct (slot_for_on _ _ _ _ _ (proj1 A4) (means_on m m4 _ _ Wf A04 Hv) E5) as [A5 M5].
  destruct (write (Plain (Mul j i)) m5) as [o m6] eqn:E6. destruct (write_on _ _ _ _ (proj1 A5) E6) as (A6 & K6 & V6).
  inversion E; subst. split; [apply (onward_trans m m4); auto; apply (onward_trans m4 m5); auto|]. split; auto.
  assert (Mi : means m4 (Slot i) (fun x => / root (Q2R eps + Q2R c * (g x * 1)))).
  { split; auto. intro x. unfold den. rewrite V4. simpl. rewrite V3. simpl. pose proof (proj2 M2 x) as Hx. simpl in Hx.
    rewrite Hx. auto. }
  intro x. unfold den. rewrite V6. simpl. pose proof (proj2 M5 x) as H5.
    pose proof (proj2 (means_on m4 m5 _ _ (proj1 A4) A5 Mi) x) as Hi.
  simpl in H5, Hi. rewrite H5, Hi, Rmult_1_r. auto.
Qed.

Lemma function_on g v f m v' m' : wf m -> means m v f -> function_num g v m = Some (v', m') ->
  onward m m' /\ means m' v' (fun x => functionR ex log root g (f x)).
Proof.
  intros Wf Hv E. unfold function_num in E. destruct (slot_for v m) as [i m1] eqn:E1.
  destruct (slot_for_on _ _ _ _ _ Wf Hv E1) as [A Hi]. destruct g as [g|].
  - destruct (write (Fun g i) m1) as [k m2] eqn:E2. inversion E; subst. destruct (write_on _ _ _ _ (proj1 A) E2) as (B & K & V).
    split; [apply (onward_trans m m1); auto|]. split; auto. intro x. unfold den. rewrite V. cbn [Gate.gateR functionR].
    pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx. auto.
  - destruct (write (Fun Exp i) m1) as [k m2] eqn:E2. destruct (write (Plain (Lin 1 [(1%Q, k)])) m2) as [t m3] eqn:E3.
    destruct (write (Fun Log t) m3) as [l m4] eqn:E4. inversion E; subst. destruct (write_on _ _ _ _ (proj1 A) E2) as (B & K
      & V).
    destruct (write_on _ _ _ _ (proj1 B) E3) as (C & K3 & V3). destruct (write_on _ _ _ _ (proj1 C) E4) as (D & K4 & V4).
    split; [apply (onward_trans m m1); auto; apply (onward_trans m1 m2); auto; apply (onward_trans m2 m3); auto|].
    split; auto. intro x. unfold den. rewrite V4. cbn [Gate.gateR applied]. rewrite V3. cbn [Gate.gateR stepR linR]. rewrite V.
    cbn [Gate.gateR applied functionR]. pose proof (proj2 Hi x) as Hx. simpl in Hx. rewrite Hx, Q2R_1. f_equal. ring.
Qed.

(* {1 Lines} *)

Definition slots_mean m := Forall2 (fun k f => means m (Slot k) f).

Lemma slots_mean_on m m' ks fs : wf m -> onward m m' -> slots_mean m ks fs -> slots_mean m' ks fs.
Proof. intros Wf O H. induction H; constructor; auto. apply (means_on m); auto. Qed.

(* What is written of each slot, when this depends on it alone. *)
Lemma write_each_on h (F : (pt -> R) -> pt -> R) l : forall m fs os m', wf m -> slots_mean m l fs ->
  (forall m1 k f x, onward m m1 -> means m1 (Slot k) f -> gateR (run x m1) (h k) = F f x) ->
  write_each h l m = (os, m') -> onward m m' /\ slots_mean m' os (map F fs).
Proof.
  induction l as [|k l IH]; cbn [write_each]; intros m fs os m' Wf H K E; inversion H as [|? f ? fs' Hk Hl]; subst.
  - inversion E; subst. split; [apply onward_refl; auto|constructor].
  - destruct (write (h k) m) as [o m1] eqn:E1. destruct (write_each h l m1) as [os1 m2] eqn:E2. inversion E; subst.
    destruct (write_on _ _ _ _ Wf E1) as (A & Ko & Vo).
    destruct (IH m1 fs' os1 m' (proj1 A) (slots_mean_on m m1 _ _ Wf A Hl)) as [B S]; auto.
    { intros m2 k' f' x O Mk. apply (K m2 k' f' x (onward_trans _ _ _ A O) Mk). }
    split; [apply (onward_trans m m1); auto|]. simpl. constructor; auto. apply (means_on m1); auto; [apply A|].
    split; auto. intro x. unfold den. rewrite Vo. apply (K m k f x (onward_refl m Wf) Hk).
Qed.

Lemma all_with_on q l m fs : slots_mean m l fs -> forall x, linR 0 (all_with q l) (run x m) = Q2R q * total_ (map (fun f => f
  x) fs).
Proof.
  intros H x. induction H as [|k f l fs Hk Hl IH]; simpl; [rewrite Q2R_0; ring|]. rewrite IH. pose proof (proj2 Hk x) as E.
  simpl in E. rewrite E. unfold total_. ring.
Qed.

Lemma squares_on q l m fs : slots_mean m l fs ->
  forall x, dotR (map (fun k => (q, (k, k))) l) (run x m) = Q2R q * total_ (map (fun f => f x * f x) fs).
Proof.
  intros H x. induction H as [|k f l fs Hk Hl IH]; simpl; [ring|]. rewrite IH. pose proof (proj2 Hk x) as E.
  simpl in E. rewrite E. unfold total_. ring.
Qed.

Lemma times_on i g m ks fs os m' : wf m -> slots_mean m ks fs -> means m (Slot i) g ->
  write_each (fun k => Plain (Mul k i)) ks m = (os, m') -> onward m m' /\ slots_mean m' os (map (fun f x => f x * g x) fs).
Proof.
  intros Wf H Mi E. apply (write_each_on (fun k => Plain (Mul k i)) (fun f x => f x * g x) ks m fs os m' Wf H); auto.
  intros m1 k f x O Mk. simpl. pose proof (proj2 Mk x) as E1. pose proof (proj2 (means_on m m1 _ _ Wf O Mi) x) as E2.
  simpl in E1, E2. rewrite E1, E2. auto.
Qed.

Lemma softmax_on ks m fs os m' : wf m -> slots_mean m ks fs -> softmax_nums ks m = (os, m') ->
  onward m m' /\ slots_mean m' os (map (fun f x => softmaxR ex (map (fun f => f x) fs) (f x)) fs).
Proof.
  intros Wf H E. unfold softmax_nums in E. destruct (write_each (Fun Exp) ks m) as [es m1] eqn:E1.
  destruct (write_each_on (Fun Exp) (fun f x => ex (f x)) ks m fs es m1 Wf H) as [A1 S1]; auto.
  { intros m2 k f x O Mk. simpl. pose proof (proj2 Mk x) as Ek. simpl in Ek. rewrite Ek. auto. }
  destruct (write (Plain (Lin 0 (all_with 1 es))) m1) as [t m2] eqn:E2.
    destruct (write_on _ _ _ _ (proj1 A1) E2) as (A2 & K2 & V2).
  destruct (write (Fun Inverse t) m2) as [i m3] eqn:E3. destruct (write_on _ _ _ _ (proj1 A2) E3) as (A3 & K3 & V3).
  assert (Mi : means m3 (Slot i) (fun x => / total_ (map ex (map (fun f => f x) fs)))).
  { split; auto. intro x. unfold den. rewrite V3. simpl. rewrite V2. simpl.
    rewrite (all_with_on 1 es m1 _ S1), Q2R_1, map_map, map_map, Rmult_1_l. auto. }
  pose proof (onward_trans _ _ _ A2 A3) as A23.
  destruct (times_on i _ m3 es _ os m' (proj1 A3) (slots_mean_on m1 m3 _ _ (proj1 A1) A23 S1) Mi E) as [A4 S4].
  split; [apply (onward_trans m m1); auto; apply (onward_trans m1 m3); auto|].
  rewrite map_map in S4. exact S4.
Qed.

Lemma log_softmax_on ks m fs os m' : wf m -> slots_mean m ks fs -> log_softmax_nums ks m = (os, m') ->
  onward m m' /\ slots_mean m' os (map (fun f x => log_softmaxR ex log (map (fun f => f x) fs) (f x)) fs).
Proof.
  intros Wf H E. unfold log_softmax_nums in E. destruct (write_each (Fun Exp) ks m) as [es m1] eqn:E1.
  destruct (write_each_on (Fun Exp) (fun f x => ex (f x)) ks m fs es m1 Wf H) as [A1 S1]; auto.
  { intros m2 k f x O Mk. simpl. pose proof (proj2 Mk x) as Ek. simpl in Ek. rewrite Ek. auto. }
  destruct (write (Plain (Lin 0 (all_with 1 es))) m1) as [t m2] eqn:E2.
    destruct (write_on _ _ _ _ (proj1 A1) E2) as (A2 & K2 & V2).
  destruct (write (Fun Log t) m2) as [g m3] eqn:E3. destruct (write_on _ _ _ _ (proj1 A2) E3) as (A3 & K3 & V3).
  assert (Mg : means m3 (Slot g) (fun x => log (total_ (map ex (map (fun f => f x) fs))))).
  { split; auto. intro x. unfold den. rewrite V3. simpl. rewrite V2. simpl.
    rewrite (all_with_on 1 es m1 _ S1), Q2R_1, map_map, map_map, Rmult_1_l. auto. }
  pose proof (onward_trans _ _ _ A1 (onward_trans _ _ _ A2 A3)) as A13.
  destruct (write_each_on (fun k => Plain (Lin 0 [(1%Q, k); ((-1)%Q, g)]))
    (fun f x => f x - log (total_ (map ex (map (fun f => f x) fs)))) ks m3 fs os m' (proj1 A3) (slots_mean_on m m3 _ _ Wf A13
      H))
    as [A4 S4]; auto.
  - intros m4 k f x O Mk. simpl. pose proof (proj2 Mk x) as Ek. pose proof (proj2 (means_on m3 m4 _ _ (proj1 A3) O Mg) x) as Em.
    simpl in Ek, Em. rewrite Ek, Em, Q2R_1, Q2R_m1, Q2R_0. ring.
  - split; [apply (onward_trans m m3); auto|]. exact S4.
Qed.

Lemma share_of l : (0 < length (A := nat) l)%nat -> Q2R (1 # Pos.of_nat (length l)) = / INR (length l).
Proof.
  intro H. assert (E : INR (length l) = IZR (Zpos (Pos.of_nat (length l)))) by (rewrite <- (Nat2Pos.id (length l)) at 1 by
    lia; apply INR_IPR).
  unfold Q2R. cbn [Qnum Qden]. rewrite E. ring.
Qed.

Lemma normalize_on eps ks m fs os m' : wf m -> (0 < length ks)%nat -> slots_mean m ks fs -> normalize_nums eps ks m = (os,
  m') ->
  onward m m' /\ slots_mean m' os (map (fun f x => normalizedR root eps (map (fun f => f x) fs) (f x)) fs).
Proof.
  intros Wf Pos H E. unfold normalize_nums in E. set (q := (1 # Pos.of_nat (length ks))%Q) in *.
  assert (Len : length fs = length ks) by (clear -H; induction H; simpl; auto).
  assert (Hq : Q2R q = / INR (length fs)) by (unfold q; rewrite Len; apply share_of, Pos).
  destruct (write (Plain (Lin 0 (all_with q ks))) m) as [mean m1] eqn:E1. destruct (write_on _ _ _ _ Wf E1) as (A1 & K1 & V1).
  set (mu := fun x : pt => / INR (length fs) * total_ (map (fun f => f x) fs)).
  assert (M1 : means m1 (Slot mean) mu).
  { split; auto. intro x. unfold den, mu. rewrite V1. simpl. rewrite (all_with_on q ks m fs H), Hq. auto. }
  destruct (write_each (fun k => Plain (Lin 0 [(1%Q, k); ((-1)%Q, mean)])) ks m1) as [cs m2] eqn:E2.
  destruct (write_each_on (fun k => Plain (Lin 0 [(1%Q, k); ((-1)%Q, mean)])) (fun f x => f x - mu x) ks m1 fs cs m2 (proj1 A1)
    (slots_mean_on m m1 _ _ Wf A1 H)) as [A2 S2]; auto.
  { intros m3 k f x O Mk. simpl. pose proof (proj2 Mk x) as Ek. pose proof (proj2 (means_on m1 m3 _ _ (proj1 A1) O M1) x) as Em.
    simpl in Ek, Em. rewrite Ek, Em, Q2R_1, Q2R_m1, Q2R_0. ring. }
  destruct (write (Dot eps [] (map (fun k => (q, (k, k))) cs)) m2) as [v m3] eqn:E3.
  destruct (write_on _ _ _ _ (proj1 A2) E3) as (A3 & K3 & V3). destruct (write (Fun Root v) m3) as [r m4] eqn:E4.
  destruct (write_on _ _ _ _ (proj1 A3) E4) as (A4 & K4 & V4). destruct (write (Fun Inverse r) m4) as [i m5] eqn:E5.
  destruct (write_on _ _ _ _ (proj1 A4) E5) as (A5 & K5 & V5).
  assert (Mi : means m5 (Slot i) (fun x => / root (Q2R eps + / INR (length fs) * total_ (map (fun f => (f x - mu x) * (f x -
    mu x)) fs)))).
  { split; auto. intro x. unfold den. rewrite V5. simpl. rewrite V4. simpl. rewrite V3. simpl.
    rewrite (squares_on q cs m2 _ S2), Hq, map_map. auto. }
  pose proof (onward_trans _ _ _ A3 (onward_trans _ _ _ A4 A5)) as A35.
  destruct (times_on i _ m5 cs _ os m' (proj1 A5) (slots_mean_on m2 m5 _ _ (proj1 A2) A35 S2) Mi E) as [A6 S6].
  split; [apply (onward_trans m m1); auto; apply (onward_trans m1 m2); auto; apply (onward_trans m2 m5); auto|].
  rewrite map_map in S6. unfold normalizedR. rewrite (map_ext _ (fun f x => (f x - mu x) * / root (Q2R eps + / INR (length fs) *
    total_ (map (fun f => (f x - mu x) * (f x - mu x)) fs)))); auto.
  intro f. apply FunctionalExtensionality.functional_extensionality. intro x. rewrite !map_length, map_map. auto.
Qed.

Lemma put_all_find (P : nat -> num -> Prop) l : forall os T, Forall2 (fun g o => P g (Slot o)) l os ->
  (forall f v, find f T = Some v -> P f v) -> forall f v, find f (put_all l os T) = Some v -> P f v.
Proof.
  induction l as [|g l IH]; intros os T H K f v F; inversion H as [|? o ? os' Ho Hl]; subst; simpl in F; [auto|].
  apply (IH _ _ Hl) in F; auto. intros f' v' F'. destruct (find_put _ _ _ _ _ F') as [[E1 E2]|E]; [subst; auto|auto].
Qed.

Lemma outs_for m (F h : nat -> pt -> R) l : forall os, slots_mean m os (map F l) -> (forall g, In g l -> forall x,
  F g x = h g x) ->
  Forall2 (fun g o => means m (Slot o) (h g)) l os.
Proof.
  induction l as [|g l IH]; intros os H E; inversion H as [|o ? os' ? Ho Hl]; subst; constructor.
  - split; [apply Ho|]. intro x. rewrite (proj2 Ho x). apply E. simpl. auto.
  - apply IH; auto. intros; apply E; simpl; auto.
Qed.

Definition nil_at : pt -> R := fun _ => 0.
Lemma slots_nth m ks gs g k : slots_mean m ks gs -> nth_error ks g = Some k -> means m (Slot k) (nth g gs nil_at).
Proof.
  intro H. revert g. induction H as [|k' f ks gs Hk Hl IH]; intros [|g] E; simpl in *; try discriminate.
  - inversion E; subst. auto.
  - apply IH, E.
Qed.

Section Lines.
Variables (hs : list nat -> machine -> list nat * machine) (H : list R -> R -> R).
Hypothesis hs_on : forall ks m fs os m', wf m -> (0 < length ks)%nat -> slots_mean m ks fs -> hs ks m = (os, m') ->
  onward m m' /\ slots_mean m' os (map (fun f x => H (map (fun f => f x) fs) (f x)) fs).

Lemma each_line_on ls gs all fs : forall T m T' m', wf m -> slots_mean m all gs ->
  (forall f v, find f T = Some v -> means m v (fun x => nth f (by_lines H ls (map (fun g => g x) gs)) 0)) ->
  each_line hs ls (load_from all 0 Empty) (length all) fs T m = Some (T', m') -> onward m m' /\
  forall f v, find f T' = Some v -> means m' v (fun x => nth f (by_lines H ls (map (fun g => g x) gs)) 0).
Proof.
  induction fs as [|f fs IH]; cbn [each_line]; intros T m T' m' Wf Sl Ht E.
  - inversion E; subst. split; [apply onward_refl; auto|auto].
  - destruct (find f T) as [v|] eqn:Ff; [apply (IH T m T' m'); auto|]. set (l := line ls f) in *.
    destruct (Nat.ltb 0 (length l) && _) eqn:Ck; try discriminate. apply andb_true_iff in Ck as [Lp Ck]. apply Nat.ltb_lt in Lp.
    destruct (fold_right _ (Some []) l) as [ks|] eqn:Fk; try discriminate.
    destruct (hs ks m) as [os m1] eqn:Eh.
    assert (Sk : slots_mean m ks (map (fun g => nth g gs nil_at) l) /\ length ks = length l).
    { clear -Fk Sl. revert ks Fk. induction l as [|g l IH]; simpl; intros ks Fk; [inversion Fk; split; [constructor|auto]|].
      destruct (fold_right _ (Some []) l) as [ks'|]; try discriminate.
      destruct (find g (load_from all 0 Empty)) as [k|] eqn:Fg; try discriminate. inversion Fk; subst.
      destruct (IH ks' eq_refl) as [I1 I2]. split; [|simpl; auto]. constructor; auto. apply (slots_nth m all gs g k Sl).
      destruct (load_find _ _ _ _ _ Fg) as [[i [J1 [J2 J3]]]|F0]; [|destruct g; discriminate F0]. simpl in J2. subst i. auto. }
    destruct Sk as [Sk Lk].
    destruct (hs_on ks m _ os m1 Wf ltac:(lia) Sk Eh) as [A So]. rewrite map_map in So.
    assert (La : length all = length gs) by (clear -Sl; induction Sl; simpl; auto).
    assert (Outs : Forall2 (fun g o => means m1 (Slot o) (fun x => nth g (by_lines H ls (map (fun g => g x) gs)) 0)) l os).
    { apply (outs_for m1 _ (fun g x => nth g (by_lines H ls (map (fun g => g x) gs)) 0) l os So).
      intros g Hg x. rewrite forallb_forall in Ck. specialize (Ck g Hg). apply andb_true_iff in Ck as [C1 C2].
      apply Nat.ltb_lt in C1. unfold same_list in C2. destruct (list_eq_dec Nat.eq_dec (line ls g) l) as [C3|];
        try discriminate.
      unfold by_lines. rewrite map_length.
      rewrite (nth_indep _ 0 ((fun f => H (map (fun g0 => nth g0 (map (fun g1 => g1 x) gs) 0) (line ls f))
        (nth f (map (fun g1 => g1 x) gs) 0)) 0%nat)) by (rewrite map_length, seq_length; lia).
      rewrite (map_nth (fun f => H (map (fun g0 => nth g0 (map (fun g1 => g1 x) gs) 0) (line ls f))
        (nth f (map (fun g1 => g1 x) gs) 0))), seq_nth by lia. simpl. rewrite C3, map_map.
      assert (Nt : forall g0, nth g0 (map (fun g1 : pt -> R => g1 x) gs) 0 = nth g0 gs nil_at x).
      { intro g0. change 0 with ((fun g1 : pt -> R => g1 x) nil_at). apply map_nth. }
      rewrite Nt. f_equal. apply map_ext. intro. symmetry. apply Nt. }
    destruct (IH (put_all l os T) m1 T' m' (proj1 A) (slots_mean_on m m1 _ _ Wf A Sl)) as [B C]; auto.
    { apply (put_all_find (fun f v => means m1 v (fun x => nth f (by_lines H ls (map (fun g => g x) gs)) 0)) l os T Outs).
      intros f' v' F'. apply (means_on m); auto. }
    split; [apply (onward_trans m m1); auto|auto].
Qed.

Lemma lines_on ls D done rows_ m T m' : wf m -> represents m D done -> lines_nums hs ls D rows_ m = Some (T, m') ->
  onward m m' /\ forall f v, find f T = Some v ->
    means m' v (fun x => nth f (by_lines H ls (map (fun r => sourceR (done x) (only r)) rows_)) 0).
Proof.
  intros Wf Hd E. unfold lines_nums in E. destruct (source_nums D (map only rows_)) as [vs|] eqn:Sn; try discriminate.
  pose proof (sources_means m D done _ _ Hd Sn) as M. destruct (slots_for vs m) as [ks m1] eqn:Sf.
  destruct (slots_for_on _ _ _ _ _ Wf M Sf) as [A Sl].
  destruct (each_line_on ls _ ks (seq 0 (length ks)) Empty m1 T m' (proj1 A) Sl) as [B C]; auto.
  { intros f v F. destruct f; discriminate F. }
  split; [apply (onward_trans m m1); auto|]. intros f v F. destruct (C f v F) as [C1 C2]. split; auto. intro x. rewrite C2.
  rewrite !map_map. auto.
Qed.
End Lines.

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
  onward m m' /\ forall f v, find f T = Some v -> means m' v (fun x => nth f (featuresR ex log root ps x (done x) s) 0).
Proof.
  intros Wf Hd E. destruct s as [rows|rows|op rows|op kinks pieces rows|op k rows|rows|eps rows|f rows|ls rows|ls rows|eps ls
    rows];
    cbn [Tape.step_nums] in E; simpl featuresR.
  - apply (rows_on D done (linear_num (stores ps) D) (fun x => linearR ps x (done x))) with (m := m); auto.
    intros; apply (linear_on D); auto.
  - apply (rows_on D done (product_num D) (fun x => productsR (done x))) with (m := m); auto.
    intros; apply (product_on D); auto.
  - destruct (tie_rule rl NoBrace op) as [[u beta]|]; try discriminate.
    apply (rows_on D done (window_num D u beta) (fun x => windowR (done x))) with (m := m); auto.
    intros; apply (window_on D done u beta); auto.
  - destruct (ad_slopes rl op kinks pieces) as [ads|] eqn:Ea; try discriminate.
    destruct (joins kinks pieces) eqn:J; try discriminate. destruct (kept_slopes kinks pieces ads); try discriminate.
    refine (rows_on D done _ (fun x r => pieceR kinks pieces (sourceR (done x) (only r))) _ rows m T m' Wf Hd E).
    intros r m0 v m1 Wf0 Hd0 E0. cbv beta in E0. destruct (source_num D (only r)) as [u|] eqn:F; try discriminate.
    apply (piece_on kinks pieces ads u (fun x => sourceR (done x) (only r)) m0 v m1 Wf0); auto.
    + apply (source_means m0 D); auto.
    + apply (slopes_length rl op kinks pieces); auto.
  - destruct (leaky_slope rl op k) as [s|]; try discriminate.
    refine (rows_on D done _ (fun x r => leakyR (factorR ps x (weight_of r)) (sourceR (done x) (only r))) _ rows m T m' Wf Hd
      E).
    intros r m0 v m1 Wf0 Hd0 E0. cbv beta in E0. destruct (factor_num (stores ps) (weight_of r)) as [u|] eqn:Fu;
      try discriminate.
    destruct (source_num D (only r)) as [y|] eqn:F; try discriminate.
    exact (leaky_on s _ u _ y _ m0 v m1 Wf0 (factor_means m0 _ u Wf0 Fu) (source_means m0 D done _ y Hd0 F) E0).
  - apply (rows_on D done (dividing_num (stores ps) D) (fun x => dividingR ps x (done x))) with (m := m); auto.
    intros; apply (dividing_on D); auto.
  - refine (rows_on D done _ (fun x r => sourceR (done x) (only r) * / root (Q2R eps + factorR ps x (weight_of r))) _ rows m
    T m' Wf Hd E).
    intros r m0 v m1 Wf0 Hd0 E0. cbv beta in E0. destruct (factor_num (stores ps) (weight_of r)) as [u|] eqn:Fu;
      try discriminate.
    destruct (source_num D (only r)) as [y|] eqn:F; try discriminate.
    exact (over_root_on eps _ u _ y _ m0 v m1 Wf0 (factor_means m0 _ u Wf0 Fu) (source_means m0 D done _ y Hd0 F) E0).
  - refine (rows_on D done _ (fun x r => functionR ex log root f (sourceR (done x) (only r))) _ rows m T m' Wf Hd E).
    intros r m0 v m1 Wf0 Hd0 E0. cbv beta in E0. destruct (source_num D (only r)) as [u|] eqn:F; try discriminate.
    exact (function_on f u _ m0 v m1 Wf0 (source_means m0 D done _ u Hd0 F) E0).
  - apply (lines_on softmax_nums (softmaxR ex)) with (D := D) (m := m); auto.
    intros ks m0 fs os m1 Wf0 _ Sl Eh. apply (softmax_on ks m0 fs os m1 Wf0 Sl Eh).
  - apply (lines_on log_softmax_nums (log_softmaxR ex log)) with (D := D) (m := m); auto.
    intros ks m0 fs os m1 Wf0 _ Sl Eh. apply (log_softmax_on ks m0 fs os m1 Wf0 Sl Eh).
  - apply (lines_on (normalize_nums eps) (normalizedR root eps)) with (D := D) (m := m); auto.
    intros ks m0 fs os m1 Wf0 Pos Sl Eh. apply (normalize_on eps ks m0 fs os m1 Wf0 Pos Sl Eh).
Qed.

Lemma steps_on rl l : forall k D done m D' m', wf m -> represents m D done -> (forall x, length (done x) = k) ->
  (forall j T, find j D = Some T -> (j < k)%nat) -> steps_nums rl (stores ps) l k D m = Some (D', m') ->
  onward m m' /\ represents m' D' (fun x => fold_left (fun d s => d ++ [featuresR ex log root ps x d s]) l (done x)).
Proof.
  induction l as [|s l IH]; cbn [Tape.steps_nums fold_left]; intros k D done m D' m' Wf Hd Len Bel E.
  - inversion E; subst. split; [apply onward_refl; auto|auto].
  - destruct (step_nums rl (stores ps) D s m) as [[T m1]|] eqn:Es; try discriminate.
    destruct (step_on rl D done s m T m1 Wf Hd Es) as [A M].
    destruct (IH (S k) (put k T D) (fun x => done x ++ [featuresR ex log root ps x (done x) s]) m1 D' m' (proj1 A)) as [B C];
      auto.
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
  nth f (nth (last_step t) (fold_left (fun d s => d ++ [featuresR ex log root ps x d s]) (steps t) [map Q2R sample]) []) 0.

Lemma sample_on sample m ks m' : wf m -> sample_nums rl (stores ps) t sample m = Some (ks, m') ->
  onward m m' /\ Forall2 (fun k f => means m' (Slot k) (output_at sample f)) ks (last_features t).
Proof.
  intros Wf E. unfold Tape.sample_nums in E.
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
  induction l as [|q l IH]; cbn [Tape.samples_nums flat_map]; intros m ks m' Wf E.
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

Theorem unroll_value ex log root fused rl varies t P outs : unroll fused rl varies t = Some (P, outs) ->
  length outs = (length (samples t) * length (last_features t))%nat /\
  forall x j, (j < length outs)%nat -> gates_value ex log root (length (stored varies t)) P outs x j = tape_value ex log root
    varies
    t x j.
Proof.
  unfold unroll. set (ps := places varies 0 (parameters t)). set (n := length (stored varies t)).
  destruct (samples_nums fused rl (stores ps) t (samples t) ([], n)) as [[ks [code c]]|] eqn:E; try discriminate.
  intro H. inversion H; subst. assert (Wf : wf n ([], n)) by (unfold wf; simpl; lia).
  assert (Fit : forall p first l, nth p ps (None, []) = (Some first, l) -> (first + length l <= n)%nat).
  { intros p first l N. apply (places_fit varies (parameters t) 0 p first l N). }
  destruct (samples_on ex log root n ps Fit fused rl t (samples t) _ _ _ Wf E) as [_ K]. split.
  { transitivity (length (flat_map (fun q => map (output_at ex log root ps t q) (last_features t)) (samples t))).
    - clear -K. induction K; simpl; auto.
    - clear. generalize (samples t). induction l as [|q l IH]; simpl; auto. rewrite app_length, map_length, IH. auto. }
  intros x j Hj.
  unfold gates_value, tape_value. fold ps. set (hs := flat_map (fun q => map (output_at ex log root ps t q) (last_features t))
    (samples t)) in *.
  assert (Ev : flat_map (sampleR ex log root ps x t) (samples t) = map (fun h => h x) hs).
  { unfold hs. clear. generalize (samples t). induction l as [|q l IH]; simpl; [reflexivity|].
    rewrite map_app, map_map, <- IH. reflexivity. }
  rewrite Ev. clear Ev E Fit Wf H. unfold rev'. rewrite <- rev_alt.
    change (runG ex log root (map x (seq 0 n)) (rev code)) with (run ex log root n x (code, c)).
  revert j Hj. induction K as [|k h ks hs' Kh Ks IH]; intros [|j] Hj; simpl in *; try lia.
  - apply (proj2 Kh x).
  - apply IH. lia.
Qed.
