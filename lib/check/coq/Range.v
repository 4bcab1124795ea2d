(* Ranges that real numbers are in: exact rationals, or intervals between integers over 2^160. And where sums, products, roots,
   quotients and exponentials of what is in ranges are. *)
From Coq Require Import ZArith QArith Qreals Reals Lra Lia.
From Clarke Require Import Numbers Gate Loss.
Open Scope R_scope.

Definition unit_ : Z := Z.pow 2 160.
Definition U : R := IZR unit_.
Lemma unit_positive : (0 < unit_)%Z. Proof. reflexivity. Qed.
Lemma U_positive : 0 < U. Proof. apply IZR_lt, unit_positive. Qed.
Global Opaque unit_.

Inductive range := Exactly (q : Q) | Within (lo hi : Z).
Definition inside (r : range) (x : R) := match r with Exactly q => x = Q2R q | Within lo hi => IZR lo <= x * U <= IZR hi end.

Definition floor_ a b := Z.div a b.
Definition ceil_ a b := Z.opp (Z.div (Z.opp a) b).
Definition bounds (r : range) : Z * Z := match r with
  | Exactly q => (floor_ (Qnum q * unit_) (Zpos (Qden q)), ceil_ (Qnum q * unit_) (Zpos (Qden q))) | Within lo hi => (lo,
    hi) end.
Definition radd r s : range := match r, s with Exactly p, Exactly q => Exactly (qadd p q)
  | _, _ => let (a, b) := bounds r in let (c, d) := bounds s in Within (a + c) (b + d) end.
Definition rscale q r : range := match r with Exactly p => Exactly (qmul q p)
  | Within lo hi => match qsgn q with Eq => Exactly 0
    | Gt => Within (floor_ (Qnum q * lo) (Zpos (Qden q))) (ceil_ (Qnum q * hi) (Zpos (Qden q)))
    | Lt => Within (floor_ (Qnum q * hi) (Zpos (Qden q))) (ceil_ (Qnum q * lo) (Zpos (Qden q))) end end.
Definition rmul r s : range := match r, s with
  | Exactly p, _ => rscale p s | _, Exactly q => rscale q r
  | Within a b, Within c d =>
    if ((0 <=? a) && (0 <=? c))%bool%Z then Within (floor_ (a * c) unit_) (ceil_ (b * d) unit_)
    else let ac := (a * c)%Z in let ad := (a * d)%Z in let bc := (b * c)%Z in let bd := (b * d)%Z in
      Within (floor_ (Z.min (Z.min ac ad) (Z.min bc bd)) unit_) (ceil_ (Z.max (Z.max ac ad) (Z.max bc bd)) unit_) end.
(* The sign, where it is certain; how two compare. *)
Definition rsgn r : option comparison := match r with Exactly q => Some (qsgn q)
  | Within lo hi => if (0 <? lo)%Z then Some Gt else if (hi <? 0)%Z then Some Lt
      else if ((lo =? 0) && (hi =? 0))%bool%Z then Some Eq else None end.
Definition rcompare r s : option comparison := match r, s with Exactly p, Exactly q => Some (p ?= q)%Q
  | _, _ => let (a, b) := bounds r in let (c, d) := bounds s in
      if (b <? c)%Z then Some Lt else if (d <? a)%Z then Some Gt else None end.

(* Of positive numbers. *)
Definition rroot_in r : option range := let (a, b) := bounds r in
  if (0 <? a)%Z then Some (Within (Z.sqrt (a * unit_)) (Z.sqrt (b * unit_) + 1)) else None.
(* Of squares of rationals it is exact. *)
Definition rroot r : option range := match r with
  | Exactly q => let n := Z.sqrt (Qnum q) in let d := Z.sqrt (Zpos (Qden q)) in
      if ((0 <? n) && (n * n =? Qnum q) && (d * d =? Zpos (Qden q)))%bool%Z then Some (Exactly (Qred (Qmake n (Z.to_pos d))))
      else rroot_in r
  | _ => rroot_in r end.
Definition rinverse_above r : option range := let (a, b) := bounds r in
  if (0 <? a)%Z then Some (Within (floor_ (unit_ * unit_) b) (ceil_ (unit_ * unit_) a)) else None.
(* Of numbers that are not 0. It is exact where the numerator is small, so that sums have no long denominators. *)
Definition rinverse_in r : option range := match rinverse_above r with Some s => Some s
  | None => match rinverse_above (rscale (-1) r) with Some s => Some (rscale (-1) s) | None => None end end.
Definition rinverse r : option range := match r with
  | Exactly q => if (negb (Qnum q =? 0) && (Z.abs (Qnum q) <? 1024))%bool%Z then Some (Exactly (Qinv q)) else rinverse_in r
  | _ => rinverse_in r end.
(* Below the exponential: that of half of it squared, and so on; in the end 1 + x. *)
Fixpoint exp_low k z : Z := match k with O => Z.max 0 (unit_ + z)
  | S k' => let r := exp_low k' (floor_ z 2) in floor_ (r * r) unit_ end.
Definition rexp_in r : option range := let (a, b) := bounds r in let l := exp_low 64 (- b) in
  if (0 <? l)%Z then Some (Within (exp_low 64 a) (ceil_ (unit_ * unit_) l)) else None.

Definition rexp r : option range := match r with
  | Exactly q => if qz q then Some (Exactly 1) else rexp_in r | _ => rexp_in r end.

(* A guess of the logarithm of a / 2^160: of its power of 2, then by Newton's method. What it is does not matter. *)
Fixpoint halvings fuel (z : Z) : Z := match fuel with O => 0%Z
  | S fuel' => if (z <=? 1)%Z then 0%Z else (1 + halvings fuel' (Z.div z 2))%Z end.
Definition log_2 : Z := 1013035739299659071135698605846798551586536899366%Z.
Definition closer a y : Z := let e := exp_low 64 y in (y + Z.div (2 * unit_ * (a - e)) (a + e + 1))%Z.
Definition log_guess a : Z := closer a (closer a (closer a (closer a ((halvings (40 * 50) a - 160) * log_2)))).
(* Beside a guess y: with E = e^y log x is between y + 1 - E / x and y + x / E - 1. *)
Definition rlog_beside y r : option range := match rexp_in (Within y y), rinverse_above r with
  | Some E, Some i => match rinverse_above E with
    | Some f => Some (Within (fst (bounds (radd (Within y y) (radd (Exactly 1) (rscale (-1) (rmul E i))))))
        (snd (bounds (radd (Within y y) (radd (rmul r f) (Exactly (-1)))))))
    | None => None end
  | _, _ => None end.
Definition rlog r : option range := match r with
  | Exactly q => if Qeq_bool q 1 then Some (Exactly 0) else rlog_beside (log_guess (fst (bounds r))) r
  | _ => rlog_beside (log_guess (fst (bounds r))) r end.

(* What is below 0 of a number, and else 0; the number, or 0 below 0. *)
Definition rbelow r : range := match rsgn r with Some Lt => r | Some _ => Exactly 0
  | None => Within (Z.min (fst (bounds r)) 0) 0 end.
Definition rabove r : range := match rsgn r with Some Lt => Exactly 0 | Some _ => r
  | None => Within 0 (Z.max (snd (bounds r)) 0) end.

(* {1 Rounded quotients} *)

Lemma floor_at a b : (0 < b)%Z -> IZR (floor_ a b) * IZR b <= IZR a.
Proof. intro H. unfold floor_. rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_div_le a b H). lia. Qed.
Lemma ceil_at a b : (0 < b)%Z -> IZR a <= IZR (ceil_ a b) * IZR b.
Proof. intro H. unfold ceil_. rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_div_le (- a) b H). lia. Qed.

Lemma floor_below a b x : (0 < b)%Z -> IZR a <= x * IZR b -> IZR (floor_ a b) <= x.
Proof.
  intros H L. pose proof (floor_at a b H). assert (B : 0 < IZR b) by (apply IZR_lt; auto).
  apply Rmult_le_reg_r with (IZR b); lra.
Qed.
Lemma ceil_above a b x : (0 < b)%Z -> x * IZR b <= IZR a -> x <= IZR (ceil_ a b).
Proof.
  intros H L. pose proof (ceil_at a b H). assert (B : 0 < IZR b) by (apply IZR_lt; auto).
  apply Rmult_le_reg_r with (IZR b); lra.
Qed.

Lemma Q2R_den q : Q2R q * IZR (Zpos (Qden q)) = IZR (Qnum q).
Proof. unfold Q2R. field. apply not_0_IZR. discriminate. Qed.

Lemma bounds_at r x : inside r x -> IZR (fst (bounds r)) <= x * U <= IZR (snd (bounds r)).
Proof.
  destruct r as [q|lo hi]; simpl; auto. intro; subst. unfold U.
  assert (E : Q2R q * IZR unit_ * IZR (Zpos (Qden q)) = IZR (Qnum q * unit_)) by (rewrite mult_IZR, <- (Q2R_den q); ring).
  split; [apply floor_below|apply ceil_above]; try reflexivity; rewrite E; lra.
Qed.

(* {1 Sums and products} *)

Lemma radd_at r s x y : inside r x -> inside s y -> inside (radd r s) (x + y).
Proof.
  intros H K. pose proof (bounds_at r x H) as A. pose proof (bounds_at s y K) as B. unfold radd.
  destruct r as [p|a b], s as [q|c d]; simpl bounds in *; simpl in *; rewrite ?plus_IZR; try lra.
  subst. rewrite Q2R_add. auto.
Qed.

Lemma rscale_at q r x : inside r x -> inside (rscale q r) (Q2R q * x).
Proof.
  intro H. destruct r as [p|a b]; simpl in *; [subst; rewrite Q2R_mul; auto|]. pose proof (qsgn_spec q) as S.
  assert (D : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; reflexivity). pose proof (Q2R_den q) as E.
  assert (M : Q2R q * x * U * IZR (Zpos (Qden q)) = IZR (Qnum q) * (x * U)) by (rewrite <- E; ring).
  destruct (qsgn q); simpl; [rewrite S, Q2R_0; ring| |].
  - assert (N : IZR (Qnum q) < 0) by nra. split; [apply floor_below|apply ceil_above]; try reflexivity; rewrite M, mult_IZR;
    nra.
  - assert (N : 0 < IZR (Qnum q)) by nra. split; [apply floor_below|apply ceil_above]; try reflexivity; rewrite M, mult_IZR;
    nra.
Qed.

Lemma between a b y x : a <= x <= b -> Rmin (a * y) (b * y) <= x * y <= Rmax (a * y) (b * y).
Proof.
  intro H. destruct (Rle_dec 0 y).
  - pose proof (Rmin_l (a * y) (b * y)). pose proof (Rmax_r (a * y) (b * y)). split; nra.
  - pose proof (Rmin_r (a * y) (b * y)). pose proof (Rmax_l (a * y) (b * y)). split; nra.
Qed.

Lemma rmul_at r s x y : inside r x -> inside s y -> inside (rmul r s) (x * y).
Proof.
  intros H K. destruct r as [p|a b]; [simpl in H; subst; apply rscale_at, K|].
  destruct s as [q|c d]; [simpl in K; subst; rewrite Rmult_comm; apply rscale_at, H|]. simpl in *.
  pose proof U_positive as P. assert (M : x * y * U * U = (x * U) * (y * U)) by ring.
  set (u := x * U) in *. set (v := y * U) in *. unfold U in M.
  destruct (Z.leb_spec 0 a), (Z.leb_spec 0 c); cbn [andb].
  1:{ apply IZR_le in H0, H1. simpl. split; [apply floor_below|apply ceil_above]; try apply unit_positive;
      unfold U; rewrite M, mult_IZR; nra. }
  all: simpl; pose proof (between _ _ v u H) as B; pose proof (between _ _ (IZR a) v K) as Ba;
    pose proof (between _ _ (IZR b) v K) as Bb; rewrite !(Rmult_comm v) in Ba, Bb;
    (split; [apply floor_below|apply ceil_above]; try apply unit_positive; unfold U; rewrite M);
    [apply Rle_trans with (2 := proj1 B)|apply Rle_trans with (1 := proj2 B)];
    [apply Rmin_glb; [apply Rle_trans with (2 := proj1 Ba)|apply Rle_trans with (2 := proj1 Bb)]; apply Rmin_glb;
      rewrite (Rmult_comm (IZR _) (IZR _)), <- mult_IZR; apply IZR_le; lia
    |apply Rmax_lub; [apply Rle_trans with (1 := proj2 Ba)|apply Rle_trans with (1 := proj2 Bb)]; apply Rmax_lub;
      rewrite (Rmult_comm (IZR _) (IZR _)), <- mult_IZR; apply IZR_le; lia].
Qed.

Lemma rsgn_at r x c : inside r x -> rsgn r = Some c -> match c with Lt => x < 0 | Eq => x = 0 | Gt => 0 < x end.
Proof.
  intros H E. pose proof U_positive as P. destruct r as [q|lo hi]; simpl in *.
  - inversion E; subst. apply qsgn_spec.
  - destruct (Z.ltb_spec 0 lo) as [A|A]; [inversion E; subst; apply IZR_lt in A; nra|].
    destruct (Z.ltb_spec hi 0) as [B|B]; [inversion E; subst; apply IZR_lt in B; nra|].
    destruct (Z.eqb_spec lo 0), (Z.eqb_spec hi 0); try discriminate. inversion E; subst. nra.
Qed.

Lemma rcompare_at r s x y c : inside r x -> inside s y -> rcompare r s = Some c ->
  match c with Lt => x < y | Eq => x = y | Gt => y < x end.
Proof.
  intros H K E. pose proof U_positive as P. pose proof (bounds_at r x H) as A. pose proof (bounds_at s y K) as B.
  assert (G : (let (a, b) := bounds r in let (c, d) := bounds s in
      if (b <? c)%Z then Some Lt else if (d <? a)%Z then Some Gt else None) = Some c ->
    match c with Lt => x < y | Eq => x = y | Gt => y < x end).
  { destruct (bounds r) as [a b], (bounds s) as [c' d]. simpl in *.
    destruct (Z.ltb_spec b c') as [L|L]; [intro T; inversion T; subst; apply IZR_lt in L; nra|].
    destruct (Z.ltb_spec d a) as [M|M]; [intro T; inversion T; subst; apply IZR_lt in M; nra|discriminate]. }
  destruct r as [p|a b], s as [q|c' d]; try (apply G, E). simpl in *. subst. inversion E; subst. clear.
  destruct (Qcompare_spec p q); [apply Qeq_eqR|apply Qlt_Rlt|apply Qlt_Rlt]; auto.
Qed.

(* {1 Roots, quotients, exponentials} *)

Lemma rroot_in_at root r s x : (forall x, 0 < x -> 0 < root x /\ root x * root x = x) -> inside r x -> rroot_in r = Some s ->
  0 < x /\ inside s (root x).
Proof.
  intros L H E. pose proof U_positive as P. pose proof (bounds_at r x H) as B. unfold rroot_in in E.
  destruct (bounds r) as [a b]. simpl in B. destruct (Z.ltb_spec 0 a) as [A|A]; inversion E; subst.
  assert (A' : 0 < IZR a) by (apply IZR_lt; auto). assert (X : 0 < x) by nra. destruct (L x X) as [L1 L2]. split; auto.
  assert (Ab : (a <= b)%Z) by (apply le_IZR; lra). pose proof unit_positive.
  assert (M : root x * U * (root x * U) = x * U * U) by (rewrite <- L2 at 3; ring). assert (Pos : 0 < root x * U) by nra.
  simpl. split.
  - destruct (Z.sqrt_spec (a * unit_)) as [S1 _]; [nia|]. apply IZR_le in S1. rewrite !mult_IZR in S1. fold U in S1.
    assert (Sq : 0 <= IZR (Z.sqrt (a * unit_))) by (apply IZR_le, Z.sqrt_nonneg).
    apply Rnot_lt_le. intro Lt. nra.
  - destruct (Z.sqrt_spec (b * unit_)) as [_ S2]; [nia|]. apply IZR_lt in S2. rewrite !mult_IZR, succ_IZR in S2. fold U in S2.
    rewrite plus_IZR. assert (Sq : 0 <= IZR (Z.sqrt (b * unit_))) by (apply IZR_le, Z.sqrt_nonneg).
    apply Rnot_lt_le. intro Lt. nra.
Qed.

Lemma rroot_at root r s x : (forall x, 0 < x -> 0 < root x /\ root x * root x = x) -> inside r x -> rroot r = Some s ->
  0 < x /\ inside s (root x).
Proof.
  intros L H E. destruct r as [q|a b]; [|apply (rroot_in_at root _ _ _ L H E)]. unfold rroot in E.
  set (n := Z.sqrt (Qnum q)) in *. set (k := Z.sqrt (Zpos (Qden q))) in *.
  destruct ((0 <? n) && (n * n =? Qnum q) && (k * k =? Zpos (Qden q)))%bool%Z eqn:B; [|apply (rroot_in_at root _ _ _ L H E)].
  rewrite !Bool.andb_true_iff in B. destruct B as [[B1 B2] B3]. apply Z.ltb_lt in B1. apply Z.eqb_eq in B2, B3.
  assert (E' : Exactly (Qred (n # Z.to_pos k)) = s) by congruence. clear E. subst s. simpl in H. subst x.
  assert (K : (0 < k)%Z) by (unfold k; apply Z.sqrt_pos; reflexivity). clearbody n k.
  set (y := Q2R (Qmake n (Z.to_pos k))). assert (Dk : IZR (Zpos (Z.to_pos k)) = IZR k) by (rewrite Z2Pos.id; auto).
  assert (K' : 0 < IZR k) by (apply IZR_lt, K). assert (N' : 0 < IZR n) by (apply IZR_lt, B1).
  assert (Y : y = IZR n / IZR k) by (unfold y, Q2R; cbn [Qnum Qden]; rewrite Dk; auto).
  assert (Y0 : 0 < y) by (rewrite Y; apply Rdiv_lt_0_compat; auto).
  assert (Sq : y * y = Q2R q) by (rewrite Y; unfold Q2R; rewrite <- B2, <- B3, !mult_IZR; field; lra).
  assert (X : 0 < Q2R q) by (rewrite <- Sq; nra). split; auto. destruct (L _ X) as [R1 R2]. cbn [inside].
  transitivity y; [nra|]. unfold y. rewrite (Qeq_eqR _ _ (Qred_correct (n # Z.to_pos k))). auto.
Qed.

Lemma quotients a b x : (0 < a)%Z -> IZR a <= x * U <= IZR b ->
  0 < x /\ IZR (floor_ (unit_ * unit_) b) <= / x * U <= IZR (ceil_ (unit_ * unit_) a).
Proof.
  intros A B. pose proof U_positive as P. assert (A' : 0 < IZR a) by (apply IZR_lt; auto). assert (X : 0 < x) by nra.
  split; auto. assert (Ab : (a <= b)%Z) by (apply le_IZR; lra). pose proof (Rinv_0_lt_compat x X) as I.
  assert (E : / x * U * (x * U) = U * U) by (field; lra). assert (Y : 0 < / x * U) by nra. unfold U in E.
  split; [apply floor_below|apply ceil_above]; try lia; rewrite mult_IZR; unfold U in *; nra.
Qed.

Lemma rinverse_above_at r s x : inside r x -> rinverse_above r = Some s -> 0 < x /\ inside s (/ x).
Proof.
  intros H E. pose proof (bounds_at r x H) as B. unfold rinverse_above in E. destruct (bounds r) as [a b]. simpl in B.
  destruct (Z.ltb_spec 0 a) as [A|A]; inversion E; subst. apply (quotients a b x A B).
Qed.

Lemma rinverse_in_at r s x : inside r x -> rinverse_in r = Some s -> x <> 0 /\ inside s (/ x).
Proof.
  intros H E. unfold rinverse_in in E. destruct (rinverse_above r) as [t|] eqn:P.
  - inversion E; subst. destruct (rinverse_above_at _ _ _ H P) as [X I]. split; [lra|auto].
  - destruct (rinverse_above (rscale (-1) r)) as [t|] eqn:M; inversion E; subst.
    destruct (rinverse_above_at _ _ _ (rscale_at (-1) r x H) M) as [X I]. rewrite Q2R_m1 in X. split; [lra|].
    replace (/ x) with (Q2R (-1) * / (Q2R (-1) * x)); [apply rscale_at, I|]. rewrite Q2R_m1. field. lra.
Qed.

Lemma rinverse_at r s x : inside r x -> rinverse r = Some s -> x <> 0 /\ inside s (/ x).
Proof.
  intros H E. destruct r as [q|a b]; [|apply (rinverse_in_at _ _ _ H E)]. unfold rinverse in E.
  destruct (negb (Qnum q =? 0) && (Z.abs (Qnum q) <? 1024))%bool%Z eqn:B; [|apply (rinverse_in_at _ _ _ H E)].
  apply Bool.andb_true_iff in B as [B _]. apply Bool.negb_true_iff, Z.eqb_neq in B. inversion E; subst s. simpl in *. subst x.
  assert (N : Q2R q <> 0).
  { unfold Q2R. intro Z. apply B, eq_IZR. apply Rmult_integral in Z as [Z|Z]; auto.
    pose proof (Rinv_0_lt_compat (IZR (Zpos (Qden q))) (IZR_lt 0 (Zpos (Qden q)) eq_refl)). lra. }
  split; auto. symmetry. apply Q2R_inv. intro Z. apply N. rewrite (Qeq_eqR _ _ Z). apply Q2R_0.
Qed.

Lemma exp_low_at e k : (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) -> forall z x, (forall x, 0 < e x) ->
  IZR z <= x * U -> 0 <= IZR (exp_low k z) <= e x * U.
Proof.
  intros Sum Low. pose proof U_positive as P. induction k as [|k IH]; intros z x Pos H.
  - cbn [exp_low]. specialize (Low x). specialize (Pos x). destruct (Z.max_spec 0 (unit_ + z)) as [[A ->]|[A ->]].
    + rewrite plus_IZR. fold U. split; [apply IZR_lt in A; rewrite plus_IZR in A; fold U in A; lra|nra].
    + split; [lra|nra].
  - cbn [exp_low]. destruct (IH (floor_ z 2) (x / 2) Pos) as [I1 I2].
    { apply floor_below; [reflexivity|]. lra. }
    set (r := exp_low k (floor_ z 2)) in *.
    assert (E : e x = e (x / 2) * e (x / 2)) by (rewrite <- Sum; f_equal; lra).
    split.
    + apply IZR_le, Z.div_pos; [|apply unit_positive]. apply le_IZR in I1. nia.
    + apply floor_below; [apply unit_positive|]. rewrite mult_IZR, E. fold U. specialize (Pos (x / 2)). nra.
Qed.

Opaque exp_low.
Lemma rexp_in_at e log r s x : exponentials e log -> (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) ->
  inside r x -> rexp_in r = Some s -> inside s (e x).
Proof.
  intros (E0 & _ & Pos & _) Sum Low H E. pose proof (bounds_at r x H) as B. unfold rexp_in in E. destruct (bounds r) as [a b].
  simpl in B. set (l := exp_low 64 (- b)) in *. destruct (0 <? l)%Z eqn:A; [|discriminate E]. apply Z.ltb_lt in A.
  assert (E' : Within (exp_low 64 a) (ceil_ (unit_ * unit_) l) = s) by congruence. clear E. subst s.
  assert (P' : forall x, 0 < e x) by (intro; apply Pos).
  destruct (exp_low_at e 64 Sum Low a x P') as [L1 L2]; [lra|].
  destruct (exp_low_at e 64 Sum Low (- b) (- x) P') as [M1 M2]; [rewrite opp_IZR; lra|]. fold l in M1, M2.
  assert (I : e (- x) * e x = 1) by (rewrite <- Sum, <- E0; f_equal; lra).
  cbn [inside]. split; [exact L2|].
  assert (Q : IZR l <= e (- x) * U <= IZR (up (e (- x) * U))) by (split; [lra|left; apply archimed]).
  destruct (quotients l _ (e (- x)) A Q) as [_ [_ Q2]].
  assert (Inv : / e (- x) = e x).
  { apply Rmult_eq_reg_l with (e (- x)); [rewrite Rinv_r; [auto|]|]; specialize (P' (- x)); lra. }
  rewrite Inv in Q2. exact Q2.
Qed.

Lemma rexp_at e log r s x : exponentials e log -> (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) ->
  inside r x -> rexp r = Some s -> inside s (e x).
Proof.
  intros Ex Sum Low H E. destruct r as [q|a b]; [|apply (rexp_in_at e log _ _ _ Ex Sum Low H E)]. unfold rexp in E.
  destruct (qz q) eqn:Z; [|apply (rexp_in_at e log _ _ _ Ex Sum Low H E)]. inversion E; subst s. simpl in *. subst x.
  apply qz_true in Z. rewrite Z, Q2R_1. apply Ex.
Qed.

(* {1 Logarithms} *)

Lemma log_between e log x y : exponentials e log -> (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) ->
  e (log x) = x -> 0 < x -> y + (1 + -1 * (e y * / x)) <= log x <= y + (x * / e y + -1).
Proof.
  intros (E0 & _ & Pos & _) Sum Low L X. destruct (Pos y) as [P _]. set (k := log x - y).
  assert (A : e y * e k = x) by (rewrite <- Sum; unfold k; rewrite <- L at 2; f_equal; ring).
  assert (B : x * e (- k) = e y) by (rewrite <- A, Rmult_assoc, <- Sum, Rplus_opp_r, E0; ring).
  pose proof (Low k) as K1. pose proof (Low (- k)) as K2. replace (log x) with (y + k) by (unfold k; ring).
  split; apply Rplus_le_compat_l.
  - rewrite <- B. replace (x * e (- k) * / x) with (e (- k)) by (field; lra). lra.
  - rewrite <- A. replace (e y * e k * / e y) with (e k) by (field; lra). lra.
Qed.

Lemma rlog_beside_at e log y r s x : exponentials e log -> (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) ->
  (forall x, 0 < x -> e (log x) = x) -> inside r x -> rlog_beside y r = Some s -> 0 < x /\ inside s (log x).
Proof.
  intros Ex Sum Low Lg H E. unfold rlog_beside in E. destruct (rexp_in (Within y y)) as [E'|] eqn:R; try discriminate.
  destruct (rinverse_above r) as [i|] eqn:I; try discriminate. destruct (rinverse_above E') as [f|] eqn:F; try discriminate.
  pose proof U_positive as P. set (v := IZR y / U). assert (V : inside (Within y y) v) by (simpl; unfold v; split; right;
    field; lra).
  pose proof (rexp_in_at e log _ _ _ Ex Sum Low V R) as Ev. destruct (rinverse_above_at _ _ _ H I) as [X Ix].
  destruct (rinverse_above_at _ _ _ Ev F) as [_ If]. split; auto. inversion E; subst s. cbn [inside].
  destruct (log_between e log x v Ex Sum Low (Lg x X) X) as [B1 B2].
  assert (One : inside (Exactly 1) 1) by (simpl; rewrite Q2R_1; auto).
  assert (Minus : inside (Exactly (-1)) (-1)) by (simpl; rewrite Q2R_m1; auto).
  pose proof (rscale_at (-1) _ _ (rmul_at _ _ _ _ Ev Ix)) as S. rewrite Q2R_m1 in S.
  pose proof (bounds_at _ _ (radd_at _ _ _ _ V (radd_at _ _ _ _ One S))) as C1.
  pose proof (bounds_at _ _ (radd_at _ _ _ _ V (radd_at _ _ _ _ (rmul_at _ _ _ _ H If) Minus))) as C2.
  split; [apply Rle_trans with (1 := proj1 C1)|apply Rle_trans with (2 := proj2 C2)]; apply Rmult_le_compat_r; lra.
Qed.

Lemma rlog_at e log r s x : exponentials e log -> (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) ->
  (forall x, 0 < x -> e (log x) = x) -> inside r x -> rlog r = Some s -> 0 < x /\ inside s (log x).
Proof.
  intros Ex Sum Low Lg H E. destruct r as [q|a b]; [|apply (rlog_beside_at e log _ _ _ _ Ex Sum Low Lg H E)]. unfold rlog in E.
  destruct (Qeq_bool q 1) eqn:Z; [|apply (rlog_beside_at e log _ _ _ _ Ex Sum Low Lg H E)]. inversion E; subst s. simpl in *.
    subst x.
  apply Qeq_bool_iff, Qeq_eqR in Z. rewrite Q2R_1 in Z. rewrite Z, Q2R_0. split; [lra|]. apply Ex.
Qed.

(* {1 Parts below and above 0} *)

Lemma rbelow_at r x : inside r x -> inside (rbelow r) (Rmin x 0).
Proof.
  intro H. unfold rbelow. destruct (rsgn r) as [c|] eqn:S.
  - pose proof (rsgn_at r x c H S) as K. destruct c; simpl; rewrite ?Q2R_0.
    + subst. apply Rmin_left. lra.
    + rewrite Rmin_left by lra. auto.
    + apply Rmin_right. lra.
  - pose proof (bounds_at r x H) as B. pose proof U_positive as P. simpl. split.
    + unfold Rmin. destruct (Rle_dec x 0); [apply Rle_trans with (2 := proj1 B); apply IZR_le, Z.le_min_l|].
      rewrite Rmult_0_l. apply (IZR_le _ 0), Z.le_min_r.
    + pose proof (Rmin_r x 0). nra.
Qed.

Lemma rabove_at r x : inside r x -> inside (rabove r) (Rmax x 0).
Proof.
  intro H. unfold rabove. destruct (rsgn r) as [c|] eqn:S.
  - pose proof (rsgn_at r x c H S) as K. destruct c; simpl; rewrite ?Q2R_0.
    + rewrite Rmax_left by lra. auto.
    + apply Rmax_right. lra.
    + rewrite Rmax_left by lra. auto.
  - pose proof (bounds_at r x H) as B. pose proof U_positive as P. simpl. split.
    + pose proof (Rmax_r x 0). nra.
    + unfold Rmax. destruct (Rle_dec x 0); [rewrite Rmult_0_l; apply (IZR_le 0), Z.le_max_r|].
      apply Rle_trans with (1 := proj2 B), IZR_le, Z.le_max_l.
Qed.
