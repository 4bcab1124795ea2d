(* A network's program: instructions, sums of products, and smooth functions; what it means over the reals, and what automatic
   differentiation makes of it there. Trusted, as Program.v is. *)
From Coq Require Import QArith Reals List.
From Clarke Require Import Space Numbers Program Loss.
Import ListNotations.
Open Scope R_scope.

(* Elu is the number, or e^x - 1 below 0; SquareAbove its square, or 0 below 0: both have a derivative everywhere.
   Above is 1 above 0 and
   else 0, and not smooth at 0. *)
Inductive fn := Exp | Root | Inverse | Log | Elu | SquareAbove | Above.
Inductive gate :=
| Plain (o : instr)
| Dot (c : Q) (l : list (Q * nat)) (m : list (Q * (nat * nat)))  (* c + the sum of q x_k + the sum of q x_i x_j *)
| Fun (f : fn) (i : nat).

(* Programs are gates that are instructions alone. *)
Definition plain_gates (P : program) : list gate := map (fun x : hint * instr => Plain (snd x)) P.
Fixpoint plain_program (P : list gate) : option program := match P with [] => Some []
  | Plain o :: P' => match plain_program P' with Some Q => Some ((no_hint, o) :: Q) | None => None end
  | _ => None end.

(* The exponential function, the logarithm and the root by what they are known for. Coq's own are such;
   they need one more axiom. *)
Definition elementary (e log root : R -> R) := exponentials e log /\ (forall x y, e (x + y) = e x * e y) /\
  (forall x, 1 + x <= e x) /\ (forall x, 0 < x -> 0 < root x /\ root x * root x = x) /\ forall x, 0 < x -> e (log x) = x.

Section Meaning.
Variables e log root : R -> R.
Definition applied f x := match f with Exp => e x | Root => root x | Inverse => / x | Log => log x
  | Elu => if Rlt_dec x 0 then e x - 1 else x | SquareAbove => if Rlt_dec x 0 then 0 else x * x
  | Above => if Rlt_dec 0 x then 1 else 0 end.
Definition fn_slope f x := match f with Exp => e x | Root => / (2 * root x) | Inverse => - (/ x * / x) | Log => / x
  | Elu => if Rlt_dec x 0 then e x else 1 | SquareAbove => if Rlt_dec x 0 then 0 else 2 * x | Above => 0 end.
Fixpoint dotR (m : list (Q * (nat * nat))) (env : list R) : R := match m with [] => 0
  | (q, (i, j)) :: m' => Q2R q * (nth i env 0 * nth j env 0) + dotR m' env end.
Definition gateR (env : list R) g : R := match g with
  | Plain o => stepR env o | Dot c l m => linR c l env + dotR m env | Fun f i => applied f (nth i env 0) end.
Fixpoint runG (env : list R) (P : list gate) := match P with [] => env | g :: P' => runG (env ++ [gateR env g]) P' end.
Definition gates_value n (P : list gate) (outs : list nat) : map_ :=
  fun x j => nth (nth j outs 0%nat) (runG (map x (seq 0 n)) P) 0.

(* Of each slot its value at w, and its derivatives. *)
Definition dualR := (R * pt)%type.
Definition dualR0 : dualR := (0, fun _ => 0).
Definition valR (G : list dualR) k : R := fst (nth k G dualR0).
Definition rowR (G : list dualR) k : pt := snd (nth k G dualR0).
Definition rows (l : list (R * nat)) (G : list dualR) : pt := fun i =>
  fold_right (fun t s => fst t * rowR G (snd t) i + s) 0 l.
Definition slopeR a b p z : R := if Rlt_dec z 0 then Q2R a else if Rlt_dec 0 z then Q2R b else Q2R p.
Definition pickedR u r l (G : list dualR) (tied : list nat) : nat :=
  let below := filter (fun k => if Rlt_dec (valR G k) (kthR r (map (valR G) l)) then true else false) l in
  match u with First => nth 0 tied 0%nat | Last => last tied 0%nat
  | Stable => nth (length l - r - length below) tied 0%nat end.
Definition tie_rows u beta r l (G : list dualR) : list (R * nat) :=
  let tied := filter (fun k => if Req_EM_T (valR G k) (kthR r (map (valR G) l)) then true else false) l in
  (1 - Q2R beta, pickedR u r l G tied) :: map (fun k => (Q2R beta * / INR (length tied), k)) tied.
Definition weighed (l : list (Q * nat)) := map (fun t => (Q2R (fst t), snd t)) l.
Definition gate_row (G : list dualR) g : pt := match g with
  | Plain (Lin c l) => rows (weighed l) G
  | Plain (Mul i j) => fun x => valR G j * rowR G i x + valR G i * rowR G j x
  | Plain (Kink i a b p) => fun x => slopeR a b p (valR G i) * rowR G i x
  | Plain (Kth r l u beta) => rows (tie_rows u beta r l G) G
  | Plain (Test _ _ _) => fun _ => 0
  | Plain (Sel t k l) => rowR G (if Req_EM_T (valR G t) 0 then l else k)
  | Dot c l m => fun x => rows (weighed l) G x + fold_right (fun t s =>
      Q2R (fst t) * (valR G (snd (snd t)) * rowR G (fst (snd t)) x + valR G (fst (snd t)) * rowR G (snd (snd t)) x) + s) 0 m
  | Fun f i => fun x => fn_slope f (valR G i) * rowR G i x end.
Definition stepG (G : list dualR) g : dualR := (gateR (map fst G) g, gate_row G g).
Fixpoint runA (G : list dualR) (P : list gate) := match P with [] => G | g :: P' => runA (G ++ [stepG G g]) P' end.
Definition inputsR n (w : pt) : list dualR := map (fun k => (w k, fun i => if Nat.eqb i k then 1 else 0)) (seq 0 n).
(* AD's output: a row for every output. *)
Definition adR n P (outs : list nat) (w : pt) : jacobian := fun j => rowR (runA (inputsR n w) P) (nth j outs 0%nat).
End Meaning.
