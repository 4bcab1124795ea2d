(* What is kept by numbers: the tree of a number's digits, for it is asked often. *)
From Coq Require Import Lia ZArith ZifyNat.

Section Store.
Variable A : Type.
Inductive tree := Empty | Node (l : tree) (x : A) (r : tree).
Definition even_ k := Nat.eqb (Nat.modulo k 2) 0.
Definition half k := match k with O => 0 | S j => Nat.div j 2 end.
Fixpoint find k T : option A := match T with Empty => None
  | Node l x r => if Nat.eqb k 0 then Some x else if even_ k then find (half k) r else find (half k) l end.
Fixpoint put k x T : tree := match T with
  | Empty => if Nat.eqb k 0 then Node Empty x Empty else Empty
  | Node l y r => if Nat.eqb k 0 then Node l x r else if even_ k then Node l y (put (half k) x r)
                  else Node (put (half k) x l) y r end.

Ltac Zify.zify_post_hook ::= Z.div_mod_to_equations.

Lemma half_even k j : k <> 0%nat -> j <> 0%nat -> even_ k = even_ j -> half k = half j -> k = j.
Proof.
  unfold even_, half. intros K J. destruct k as [|k]; [lia|]. destruct j as [|j]; [lia|].
  destruct (Nat.eqb_spec (Nat.modulo (S k) 2) 0), (Nat.eqb_spec (Nat.modulo (S j) 2) 0);
    intros E H; try discriminate; lia.
Qed.

Lemma find_put T : forall k j x y, find j (put k x T) = Some y -> (j = k /\ y = x) \/ find j T = Some y.
Proof.
  induction T as [|l IHl z r IHr]; intros k j x y; simpl.
  - destruct (Nat.eqb_spec k 0); simpl; [|discriminate].
    destruct (Nat.eqb_spec j 0); [|destruct (even_ j); discriminate]. intro H. inversion H. left. split; auto. lia.
  - destruct (Nat.eqb_spec k 0) as [K|K].
    + simpl. destruct (Nat.eqb_spec j 0) as [J|J]; auto. intro H. inversion H. left. split; auto. lia.
    + pose proof (half_even j k) as E. destruct (even_ k) eqn:Ek; simpl; destruct (Nat.eqb_spec j 0) as [J|J]; auto;
        destruct (even_ j) eqn:Ej; auto; intro H.
      * destruct (IHr _ _ _ _ H) as [[E1 E2]|E1]; auto.
      * destruct (IHl _ _ _ _ H) as [[E1 E2]|E1]; auto.
Qed.
End Store.
Arguments Empty {A}.
Arguments find {A}.
Arguments put {A}.
Arguments find_put {A}.
