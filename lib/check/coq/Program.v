(* Programs: instructions, what they mean over the reals, and what automatic differentiation makes of them. Trusted, as
   Space.v is: the theorems are about `value` and `ad`. *)
From Coq Require Import QArith Reals List.
From Clarke Require Import Space Numbers.
Import ListNotations.
Open Scope R_scope.

Inductive relation := RLt | RLe | RGt | RGe | REq | RNe.
Inductive pick := First | Last | Stable.

(* Inputs have the slots 0 to n - 1; an instruction reads slots before its own. *)
Inductive instr :=
| Lin (c : Q) (l : list (Q * nat))                    (* c + the sum of q x_k *)
| Mul (i j : nat)
| Kink (i : nat) (a b p : Q)                          (* a z for z < 0, else b z; at z = 0 AD takes the slope p *)
| Kth (r : nat) (l : list nat) (u : pick) (beta : Q)  (* the r-th largest entry of l; of ties AD takes (1 - beta)
                                                         times one entry, and beta times their mean *)
| Test (t : relation) (i j : nat)                     (* 1 if x_i t x_j, else 0 *)
| Sel (t k l : nat).                                  (* x_l if x_t is 0, else x_k *)

(* Hints, which do not change what a program means. Where x_t is another number than 1 (true) or 0 (false), t in guards,
   nothing needs the instruction. Again: it was met before, behind other guards, and may be decided by what was. The
   argument of a kink may be c times the factors, which are not 0 at w, times the slot s, which tells its side. *)
Record hint := { guards : list (nat * bool); again : bool; factored : option (Q * list nat * nat) }.
Definition no_hint := {| guards := []; again := false; factored := None |}.
Definition program := list (hint * instr).

Definition holds (t : relation) (c : comparison) : bool := match t, c with
  | RLt, Lt | RLe, Lt | RLe, Eq | RGt, Gt | RGe, Gt | RGe, Eq | REq, Eq | RNe, Lt | RNe, Gt => true
  | _, _ => false end.

(* {1 Meaning} *)

Definition compareR (x y : R) : comparison := if Rlt_dec x y then Lt else if Rlt_dec y x then Gt else Eq.

(* In descending order. *)
Fixpoint insertR x l := match l with [] => [x] | y :: l' => if Rlt_dec x y then y :: insertR x l' else x :: l end.
Fixpoint sortR l := match l with [] => [] | x :: l' => insertR x (sortR l') end.
Definition kthR r l := nth (pred r) (sortR l) 0.

Fixpoint linR c (l : list (Q * nat)) (env : list R) : R := match l with
  | [] => Q2R c | (q, k) :: l' => Q2R q * nth k env 0 + linR c l' env end.
Definition kinkR a b z := if Rlt_dec z 0 then Q2R a * z else Q2R b * z.
Definition stepR (env : list R) o : R := match o with
  | Lin c l => linR c l env
  | Mul i j => nth i env 0 * nth j env 0
  | Kink i a b _ => kinkR a b (nth i env 0)
  | Kth r l _ _ => kthR r (map (fun k => nth k env 0) l)
  | Test t i j => if holds t (compareR (nth i env 0) (nth j env 0)) then 1 else 0
  | Sel t k l => if Req_EM_T (nth t env 0) 0 then nth l env 0 else nth k env 0 end.
Fixpoint runR (env : list R) (P : program) := match P with [] => env | (_, o) :: P' => runR (env ++ [stepR env o]) P' end.

(* F: the outputs' slots are outs. *)
Definition value n (P : program) (outs : list nat) : map_ :=
  fun x j => nth (nth j outs 0%nat) (runR (map x (seq 0 n)) P) 0.

(* {1 AD} *)

(* Exact arithmetic, forward: each slot has its value at w and its derivative, a number for every input. Of a
   kink it takes a slope, p at 0; of a tie the entries' derivatives, with their shares. *)
Definition dual := (Q * list Q)%type.
Definition dual0 : dual := (0%Q, []).
Fixpoint gadd (a b : list Q) := match a, b with [], _ => b | _, [] => a | p :: a', q :: b' => qadd p q :: gadd a' b' end.
Definition gscale k (a : list Q) := map (qmul k) a.
Fixpoint linD c (l : list (Q * nat)) (G : list dual) : dual := match l with
  | [] => (c, [])
  | (q, k) :: l' => let x := nth k G dual0 in let y := linD c l' G in
                    (qadd (qmul q (fst x)) (fst y), gadd (gscale q (snd x)) (snd y)) end.

Fixpoint insertQ x l := match l with [] => [x] | y :: l' => match (x ?= y)%Q with Lt => y :: insertQ x l' | _ =>
  x :: l end end.
Fixpoint sortQ l := match l with [] => [] | x :: l' => insertQ x (sortQ l') end.
Definition kthQ r l := nth (pred r) (sortQ l) 0%Q.

Definition slope a b p z : Q := match qsgn z with Lt => a | Eq => p | Gt => b end.
Definition val (G : list dual) k : Q := fst (nth k G dual0).
(* Of the entries that are the r-th largest in value, the one that is picked. *)
Definition picked u r l (G : list dual) (tied : list nat) : nat :=
  let below := filter (fun k => match (val G k ?= kthQ r (map (val G) l))%Q with Lt => true | _ => false end) l in
  match u with First => nth 0 tied 0%nat | Last => last tied 0%nat
  | Stable => nth (length l - r - length below) tied 0%nat end.
Definition tie_form u beta r l (G : list dual) : list (Q * nat) :=
  let tied := filter (fun k => Qeq_bool (val G k) (kthQ r (map (val G) l))) l in
  let share := qmul beta (1 # Pos.of_nat (length tied)) in
  (qsub 1 beta, picked u r l G tied) :: map (fun k => (share, k)) tied.
Definition stepD (G : list dual) o : dual := match o with
  | Lin c l => linD c l G
  | Mul i j => let x := nth i G dual0 in let y := nth j G dual0 in
               (qmul (fst x) (fst y), gadd (gscale (fst y) (snd x)) (gscale (fst x) (snd y)))
  | Kink i a b p => let x := nth i G dual0 in
                    (qmul (slope a b b (fst x)) (fst x), gscale (slope a b p (fst x)) (snd x))
  | Kth r l u beta => (kthQ r (map (val G) l), snd (linD 0 (tie_form u beta r l G) G))
  | Test t i j => (if holds t (val G i ?= val G j)%Q then 1%Q else 0%Q, [])
  | Sel t k l => nth (if qz (val G t) then l else k) G dual0 end.
Fixpoint runD (G : list dual) (P : program) := match P with [] => G | (_, o) :: P' => runD (G ++ [stepD G o]) P' end.

Fixpoint basis n k : list Q := match n with O => [] | S m => match k with O => [1%Q] | S k' => 0%Q :: basis m k' end end.
Definition inputs n (w : list Q) : list dual := map (fun k => (nth k w 0%Q, basis n k)) (seq 0 n).
(* AD's output: a row for every output. *)
Definition duals n P (outs : list nat) w : list dual := map (fun k => nth k (runD (inputs n w) P) dual0) outs.
Definition ad n P outs w : list (list Q) := map snd (duals n P outs w).

(* The points and matrices that rationals are. *)
Definition real (w : list Q) : pt := fun i => Q2R (nth i w 0%Q).
Definition reals (G : list (list Q)) : jacobian := fun j => real (nth j G []).
