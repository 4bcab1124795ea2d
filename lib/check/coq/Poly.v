(* Polynomials over the rationals in the displacement h = y - w. Near w, on one side of every kink, each number that a
   program computes is one. A monomial is the list of its variables, a polynomial a list of terms. They are kept in
   order, lower degrees first, but nothing that is proved here needs that: only what is found does. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool FunctionalExtensionality.
From Clarke Require Import Space Calculus Numbers Program.
Import ListNotations.
Open Scope R_scope.

Definition mono := list nat.
Definition poly := list (Q * mono).

Fixpoint lex (a b : mono) : comparison := match a, b with
  | i :: a', j :: b' => match Nat.compare i j with Eq => lex a' b' | c => c end
  | [], [] => Eq | [], _ => Lt | _, [] => Gt end.
Definition mcmp (a b : mono) := match Nat.compare (length a) (length b) with Eq => lex a b | c => c end.
Fixpoint minsert i (m : mono) : mono := match m with [] => [i] | j :: m' => if Nat.leb i j then
  i :: m else j :: minsert i m' end.
Definition mmul (a b : mono) : mono := fold_right minsert b a.

Definition term c m : poly := if qz c then [] else [(c, m)].
Fixpoint padd (p : poly) : poly -> poly := fix go q := match p, q with
  | [], _ => q
  | _, [] => p
  | (c, m) :: p', (d, k) :: q' => match mcmp m k with
    | Lt => (c, m) :: padd p' q
    | Gt => (d, k) :: go q'
    | Eq => if qz (qadd c d) then padd p' q' else (qadd c d, m) :: padd p' q' end end.
Definition pscale k (p : poly) : poly := if qz k then [] else map (fun t => (qmul k (fst t), snd t)) p.
Definition mtimes c m (p : poly) : poly := map (fun t => (qmul c (fst t), mmul m (snd t))) p.
Definition pmul (p q : poly) : poly := fold_right (fun t s => padd (mtimes (fst t) (snd t) q) s) [] p.
Definition psub p q := padd p (pscale (-1) q).

(* The value at h = 0, and the coefficient of h_i. *)
Fixpoint pconst (p : poly) : Q := match p with
  | [] => 0%Q | (c, []) :: p' => qadd c (pconst p') | _ :: p' => pconst p' end.
Fixpoint plinear (p : poly) i : Q := match p with
  | [] => 0%Q | (c, [j]) :: p' => if Nat.eqb i j then qadd c (plinear p' i) else plinear p' i | _ :: p' => plinear p' i end.

Lemma lex_eq a : forall b, lex a b = Eq -> a = b.
Proof.
  induction a as [|i a IH]; intros [|j b] H; simpl in H; try discriminate; auto.
  destruct (Nat.compare_spec i j); try discriminate. f_equal; auto.
Qed.

Lemma mcmp_eq a b : mcmp a b = Eq -> a = b.
Proof. unfold mcmp. destruct (Nat.compare _ _); try discriminate. apply lex_eq. Qed.

Section Poly.
Variable n : nat.
Notation N := (N n).
Notation cont := (cont n).
Notation C1 := (C1 n).

(* {1 Values} *)

(* Variables from n on are 0. *)
Definition co (h : pt) i := if Nat.ltb i n then h i else 0.
Fixpoint mval (m : mono) (h : pt) : R := match m with [] => 1 | i :: m' => co h i * mval m' h end.
Fixpoint pval (p : poly) (h : pt) : R := match p with [] => 0 | (c, m) :: p' => Q2R c * mval m h + pval p' h end.

Lemma mval_ext m h k : (forall i, (i < n)%nat -> h i = k i) -> mval m h = mval m k.
Proof.
  intro H. induction m as [|i m IH]; simpl; auto. rewrite IH. f_equal. unfold co.
  destruct (Nat.ltb_spec i n); auto.
Qed.

Lemma pval_ext p h k : (forall i, (i < n)%nat -> h i = k i) -> pval p h = pval p k.
Proof. intro H. induction p as [|[c m] p IH]; simpl; auto. rewrite IH, (mval_ext m h k); auto. Qed.

Lemma minsert_val i m h : mval (minsert i m) h = co h i * mval m h.
Proof. induction m as [|j m IH]; simpl; auto. destruct (Nat.leb i j); simpl; auto. rewrite IH; ring. Qed.

Lemma mmul_val a b h : mval (mmul a b) h = mval a h * mval b h.
Proof. induction a as [|i a IH]; simpl; [ring|]. rewrite minsert_val, IH; ring. Qed.

Lemma term_val c m h : pval (term c m) h = Q2R c * mval m h.
Proof. unfold term. destruct (qz c) eqn:Z; simpl; [rewrite (qz_true _ Z)|]; ring. Qed.

Lemma padd_val p : forall q h, pval (padd p q) h = pval p h + pval q h.
Proof.
  induction p as [|[c m] p IHp]; intros q h; [destruct q; simpl; ring|].
  induction q as [|[d k] q IHq]; [simpl; ring|].
  simpl padd. destruct (mcmp m k) eqn:E.
  - apply mcmp_eq in E. subst k. pose proof (Q2R_add c d) as A.
    destruct (qz (qadd c d)) eqn:Z; simpl; rewrite IHp; [rewrite (qz_true _ Z) in A; nra|rewrite A; ring].
  - change (Q2R c * mval m h + pval (padd p ((d, k) :: q)) h = pval ((c, m) :: p) h + pval ((d, k) :: q) h).
    rewrite IHp. simpl; ring.
  - change (Q2R d * mval k h + pval (padd ((c, m) :: p) q) h = pval ((c, m) :: p) h + pval ((d, k) :: q) h).
    rewrite IHq. simpl; ring.
Qed.

Lemma pscale_val k p h : pval (pscale k p) h = Q2R k * pval p h.
Proof.
  unfold pscale. destruct (qz k) eqn:Z; [simpl; rewrite (qz_true _ Z); ring|].
  induction p as [|[c m] p IH]; simpl; [ring|]. rewrite IH, Q2R_mul; ring.
Qed.

Lemma psub_val p q h : pval (psub p q) h = pval p h - pval q h.
Proof. unfold psub. rewrite padd_val, pscale_val, Q2R_m1. ring. Qed.

Lemma mtimes_val c m p h : pval (mtimes c m p) h = Q2R c * mval m h * pval p h.
Proof.
  unfold mtimes. induction p as [|[d k] p IH]; simpl; [ring|]. rewrite IH, Q2R_mul, mmul_val; ring.
Qed.

Lemma pmul_val p q h : pval (pmul p q) h = pval p h * pval q h.
Proof. induction p as [|[c m] p IH]; simpl; [ring|]. rewrite padd_val, mtimes_val, IH. ring. Qed.

Definition origin : pt := fun _ => 0.

Lemma mval_origin i m : mval (i :: m) origin = 0.
Proof. simpl. unfold co, origin. destruct (Nat.ltb i n); ring. Qed.

Lemma pconst_val p : pval p origin = Q2R (pconst p).
Proof.
  induction p as [|[c [|i m]] p IH]; cbn [pval pconst].
  - symmetry; apply Q2R_0.
  - rewrite Q2R_add, IH. simpl. ring.
  - rewrite <- IH, mval_origin. ring.
Qed.

(* {1 Gradients} *)

Fixpoint mgrad (m : mono) (h : pt) (i : nat) : R := match m with [] => 0
  | j :: m' => mval m' h * (if Nat.ltb j n then if Nat.eqb i j then 1 else 0 else 0) + co h j * mgrad m' h i end.
Fixpoint pgrad (p : poly) (h : pt) (i : nat) : R := match p with [] => 0
  | (c, m) :: p' => Q2R c * mgrad m h i + pgrad p' h i end.

Lemma mono_C1 w m : C1 (fun y => mval m (sub y w)) (fun y i => mgrad m (sub y w) i).
Proof.
  induction m as [|j m IH]; simpl; [apply C1_const|]. unfold co. destruct (Nat.ltb_spec j n).
  - apply (C1_mul n (fun y => y j - w j) (fun _ i => if Nat.eqb i j then 1 else 0)); auto. apply C1_coord; auto.
  - apply (C1_mul n (fun _ => 0) (fun _ _ => 0)); auto. apply C1_const.
Qed.

(* A polynomial in y - w is smooth. *)
Lemma poly_C1 w p : C1 (fun y => pval p (sub y w)) (fun y i => pgrad p (sub y w) i).
Proof.
  induction p as [|[c m] p IH]; simpl; [apply C1_const|].
  apply C1_add; auto. apply C1_scale, mono_C1.
Qed.

Lemma poly_cont w p x : cont (fun y => pval p (sub y w)) x.
Proof. apply (C1_cont _ _ _ _ (poly_C1 w p)). Qed.

(* Its gradient at w: the linear coefficients. *)
Lemma plinear_val p i : (i < n)%nat -> pgrad p origin i = Q2R (plinear p i).
Proof.
  intro Hi. induction p as [|[c [|j [|k m]]] p IH]; cbn [pgrad plinear mgrad mval].
  - symmetry; apply Q2R_0.
  - rewrite IH. ring.
  - destruct (Nat.eqb_spec i j) as [E|E]; [rewrite Q2R_add; subst|]; rewrite IH; unfold co, origin;
      destruct (Nat.ltb_spec j n); try lia; ring.
  - rewrite IH. unfold co, origin. destruct (Nat.ltb j n), (Nat.ltb k n); ring.
Qed.

(* {1 Polynomials vanish on thin sets} *)

Fixpoint horner (l : list R) (s : R) : R := match l with [] => 0 | c :: l' => c + s * horner l' s end.
Definition polynomial (f : R -> R) := exists l, forall s, f s = horner l s.

Lemma polynomial_const c : polynomial (fun _ => c).
Proof. exists [c]. intros; simpl; ring. Qed.

Lemma polynomial_add f g : polynomial f -> polynomial g -> polynomial (fun s => f s + g s).
Proof.
  intros [l Hl] [k Hk]. exists ((fix add a b := match a, b with [], _ => b | _, [] => a
    | x :: a', y :: b' => x + y :: add a' b' end) l k).
  intro s. rewrite Hl, Hk. clear Hl Hk. revert k; induction l as [|x l IH]; intros [|y k]; simpl; try ring.
  rewrite <- IH. ring.
Qed.

Lemma polynomial_scale c f : polynomial f -> polynomial (fun s => c * f s).
Proof.
  intros [l Hl]. exists (map (Rmult c) l). intro s. rewrite Hl. clear Hl.
  induction l as [|x l IH]; simpl; [ring|]. rewrite <- IH; ring.
Qed.

Lemma polynomial_shift f : polynomial f -> polynomial (fun s => s * f s).
Proof. intros [l Hl]. exists (0 :: l). intro s. simpl. rewrite Hl; ring. Qed.

(* a + b s times a polynomial is one. *)
Lemma polynomial_factor a b f : polynomial f -> polynomial (fun s => (a + s * b) * f s).
Proof.
  intro H. destruct (polynomial_add (fun s => a * f s) (fun s => s * (b * f s))) as [l Hl].
  - apply polynomial_scale; auto.
  - apply (polynomial_shift (fun s => b * f s)), polynomial_scale; auto.
  - exists l. intro s. rewrite <- Hl. ring.
Qed.

(* A polynomial is its value at r, plus s - r times a polynomial of fewer coefficients. *)
Fixpoint divide (l : list R) (r : R) : list R := match l with [] => [] | [_] => []
  | _ :: l' => horner l' r :: divide l' r end.

Lemma divide_spec l r s : horner l s = horner l r + (s - r) * horner (divide l r) s.
Proof.
  induction l as [|c l IH]; [simpl; ring|]. destruct l as [|d l]; [simpl; ring|].
  change (divide (c :: d :: l) r) with (horner (d :: l) r :: divide (d :: l) r).
  set (l' := d :: l) in *. change (horner (c :: l') s) with (c + s * horner l' s).
  change (horner (c :: l') r) with (c + r * horner l' r).
  change (horner (horner l' r :: divide l' r) s) with (horner l' r + s * horner (divide l' r) s). rewrite IH. ring.
Qed.

Lemma divide_length l r : (length (divide l r) <= pred (length l))%nat.
Proof.
  induction l as [|c [|d l] IH]; simpl; auto. apply le_n_S. exact IH.
Qed.

(* A polynomial that is not 0 at 1 is not 0 at points as near to 0 as one likes. *)
Lemma not_zero_near m : forall l e, (length l <= m)%nat -> horner l 1 <> 0 -> 0 < e < 1 ->
  exists s, 0 < s < e /\ horner l s <> 0.
Proof.
  induction m as [|m IH]; intros l e Hm H1 He.
  - destruct l; simpl in *; [lra|lia].
  - destruct (Req_dec (horner l (e / 2)) 0) as [Z|Z]; [|exists (e / 2); split; [lra|auto]].
    pose proof (divide_spec l (e / 2)) as D. pose proof (divide_length l (e / 2)) as L.
    destruct (IH (divide l (e / 2)) (e / 2)) as [s [S1 S2]]; try lra; try lia.
    + intro E. rewrite (D 1), Z, E in H1. lra.
    + exists s. split; [lra|]. rewrite (D s), Z. intro E. apply S2.
      assert (s - e / 2 <> 0) by lra. apply Rmult_eq_reg_l with (s - e / 2); lra.
Qed.

Lemma line_sub a b w s i : sub (line a s (sub b a)) w i = sub a w i + s * sub b a i.
Proof. unfold sub, line; ring. Qed.

Lemma mono_line a b w m : polynomial (fun s => mval m (sub (line a s (sub b a)) w)).
Proof.
  induction m as [|i m IH]; simpl; [apply polynomial_const|]. unfold co. destruct (Nat.ltb i n).
  - destruct (polynomial_factor (sub a w i) (sub b a i) _ IH) as [l Hl]. exists l. intro s.
    rewrite <- Hl, <- line_sub. reflexivity.
  - destruct (polynomial_const 0) as [l Hl]. exists l. intro s. rewrite <- Hl. ring.
Qed.

Lemma poly_line a b w p : polynomial (fun s => pval p (sub (line a s (sub b a)) w)).
Proof.
  induction p as [|[c m] p IH]; simpl; [apply polynomial_const|].
  apply (polynomial_add (fun s => Q2R c * mval m (sub (line a s (sub b a)) w))); auto.
  apply (polynomial_scale (Q2R c) _ (mono_line a b w m)).
Qed.

(* One point where it is not 0 suffices. *)
Lemma poly_thin w p h : pval p h <> 0 -> thin n (fun y => pval p (sub y w)).
Proof.
  intros Hh c r Hr. set (b := fun i => w i + h i). pose proof (N_nonneg n (sub b c)) as Nb.
  destruct (poly_line c b w p) as [l Hl].
  assert (E1 : horner l 1 <> 0).
  { rewrite <- Hl. rewrite (pval_ext p _ h); auto. intros i _. unfold sub, line, b. ring. }
  assert (He : 0 < Rmin (1 / 2) (r / (N (sub b c) + 1)) < 1).
  { split; [apply Rmin_glb_lt; try lra; apply Rdiv_lt_0_compat; lra|].
    eapply Rle_lt_trans; [apply Rmin_l|lra]. }
  destruct (not_zero_near _ l _ (le_n _) E1 He) as [s [[S0 S1] S2]]. rewrite <- Hl in S2.
  pose proof (Rmin_r (1 / 2) (r / (N (sub b c) + 1))) as Mr. set (z := line c s (sub b c)) in *.
  destruct (ball_nonzero n (fun y => pval p (sub y w)) c r z Hr) as [r' Hr']; auto using poly_cont.
  - unfold z. rewrite N_line, Rabs_right by lra.
    assert (S3 : s < r / (N (sub b c) + 1)) by lra. apply Rmult_lt_compat_r with (r := N (sub b c) + 1) in S3; try lra.
    unfold Rdiv in S3. rewrite Rmult_assoc, Rinv_l in S3 by lra. nra.
  - exists z, r'. exact Hr'.
Qed.

(* A test point with rational coordinates. *)
Fixpoint mvalQ (m : mono) (z : list Q) : Q := match m with [] => 1%Q
  | i :: m' => if Nat.ltb i n then qmul (nth i z 0%Q) (mvalQ m' z) else 0%Q end.
Fixpoint pvalQ (p : poly) (z : list Q) : Q := match p with [] => 0%Q
  | (c, m) :: p' => qadd (qmul c (mvalQ m z)) (pvalQ p' z) end.


Lemma mvalQ_val m z : Q2R (mvalQ m z) = mval m (real z).
Proof.
  induction m as [|i m IH]; simpl; [apply Q2R_1|]. unfold co. destruct (Nat.ltb i n).
  - rewrite Q2R_mul, IH. reflexivity.
  - rewrite Q2R_0. ring.
Qed.

Lemma pvalQ_val p z : Q2R (pvalQ p z) = pval p (real z).
Proof. induction p as [|[c m] p IH]; simpl; [apply Q2R_0|]. rewrite Q2R_add, Q2R_mul, IH, mvalQ_val. ring. Qed.

(* {1 Polynomials that are nowhere positive: minus squares} *)

Fixpoint square (m : mono) := match m with [] => true | [_] => false
  | i :: j :: m' => Nat.eqb i j && square m' end.
Definition nowhere_positive (p : poly) := forallb (fun t => negb (qpos (fst t)) && (square (snd t))) p.

Lemma square_val k : forall m h, (length m <= k)%nat -> square m = true -> 0 <= mval m h.
Proof.
  induction k as [|k IH]; intros [|i [|j m]] h L H; simpl in *; try lra; try lia; try discriminate.
  apply andb_true_iff in H as [E H]. apply Nat.eqb_eq in E. subst j.
  assert (0 <= mval m h) by (apply IH; [lia|auto]). nra.
Qed.

Lemma nowhere_positive_val p h : nowhere_positive p = true -> pval p h <= 0.
Proof.
  induction p as [|[c m] p IH]; simpl; intros H; [lra|]. apply andb_true_iff in H as [H1 H2].
  apply andb_true_iff in H1 as [Hc Hm]. specialize (IH H2). pose proof (square_val _ m h (le_n _) Hm).
  unfold qpos in Hc. pose proof (qsgn_spec c). destruct (qsgn c); try discriminate; nra.
Qed.
End Poly.
