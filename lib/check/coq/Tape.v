(* Tapes (docs/tape.md): networks as numbered steps. What they mean over the reals, and the program that one is. *)
From Coq Require Import QArith Qreals Reals Lra Lia String List Bool.
From Clarke Require Import Space Numbers Program Rank Text Store Gate.
Import ListNotations.
Open Scope R_scope.

(* A factor: a number, perhaps times an entry of a parameter. A source: a feature of an earlier step, 1, or nothing. *)
Inductive source_ := Of (s f : nat) | One | Pad.
Definition factor := (Q * option (nat * nat))%type.
Definition row := list (factor * source_).
(* c0 + c1 x + c2 x^2 *)
Definition piece := (Q * Q * Q)%type.
Definition c0 (p : piece) := fst (fst p).
Definition c1 (p : piece) := snd (fst p).
Definition c2 (p : piece) := snd p.
(* The lines that features are on: of so many, so far apart. Of a sample alone; of each of `count` samples of so many features
   that lie end to end; or of all of these together. *)
Inductive lines := By (length stride : nat) | Each (count width length stride : nat) | All (count width length stride : nat).
(* Functions of one number, and log (1 + e^x). *)
Inductive function_ := Basic (f : fn) | Softplus.
(* Each feature has a row of terms; Piecewise, Window and what is below Dividing read the sources alone, Piecewise and
   functions one. *)
Inductive step :=
| Linear (rows : list row)
| Product (rows : list row)                                        (* two sources after two are multiplied *)
| Window (op : string) (rows : list row)
| Piecewise (op : string) (kinks : list (nat * Q)) (pieces : list piece) (rows : list row)
| Leaky (op : string) (k : nat) (rows : list row)                    (* the source x, and left of 0 the factor times x *)
| Dividing (rows : list row)                     (* the sum of sources times the factor's number over its entry *)
| OverRoot (eps : Q) (rows : list row)                               (* the source over the root of eps plus the factor *)
| Function (f : function_) (rows : list row)
| Softmax (ls : lines) (rows : list row)
| LogSoftmax (ls : lines) (rows : list row)
| Normalize (eps : Q) (ls : lines) (rows : list row).                (* less the line's mean, over its variance's root *)

(* Samples, each with the features of step 0; parameters; the steps after that one; the output, features of a step. *)
Record tape := { samples : list (list Q); parameters : list (string * list Q); steps : list step; last_step : nat;
  last_features : list nat }.

(* {1 Meaning} *)

(* Of parameters the entries at x; those that do not vary are at what is stored. A parameter's first entry is number `first`
   of all that vary. *)
Definition place_of := (option nat * list Q)%type.
Definition entryR (ps : list place_of) (x : pt) (at_ : nat * nat) : R := match nth (fst at_) ps (None, []) with
  | (Some first, _) => x (first + snd at_)%nat
  | (None, l) => Q2R (nth (snd at_) l 0%Q) end.
Definition factorR ps x (c : factor) : R := Q2R (fst c) * match snd c with Some e => entryR ps x e | None => 1 end.
Definition sourceR (done : list (list R)) (s : source_) : R := match s with
  | Of k f => nth f (nth k done []) 0 | One => 1 | Pad => 0 end.
Definition linearR ps x done (r : row) : R := fold_right (fun t a => factorR ps x (fst t) * sourceR done (snd t) + a) 0 r.
(* Divisors are not 0: unroll, and the kernel's evidence, see to it. *)
Definition quotientR ps x (c : factor) : R := Q2R (fst c) * match snd c with Some e => / entryR ps x e | None => 1 end.
Definition dividingR ps x done (r : row) : R := fold_right (fun t a => quotientR ps x (fst t) * sourceR done (snd t) + a) 0 r.
Fixpoint productsR done (r : row) : R := match r with
  | (_, a) :: (_, b) :: r' => sourceR done a * sourceR done b + productsR done r' | _ => 0 end.
Definition is_pad (s : source_) := match s with Pad => true | _ => false end.
Definition present (r : row) : list source_ := filter (fun s => negb (is_pad s)) (map snd r).
Definition windowR done (r : row) : R := kthR 1 (map (sourceR done) (present r)).
Definition onR (p : piece) (x : R) : R := Q2R (c0 p) + Q2R (c1 p) * x + Q2R (c2 p) * (x * x).
Fixpoint pieceR (kinks : list (nat * Q)) (pieces : list piece) (x : R) : R := match kinks, pieces with
  | (_, a) :: kinks', p :: pieces' => if Rlt_dec x (Q2R a) then onR p x else pieceR kinks' pieces' x
  | _, p :: _ => onR p x | _, [] => 0 end.
Definition only (r : row) : source_ := match r with (_, s) :: _ => s | [] => Pad end.
Definition leakyR (u x : R) : R := if Rlt_dec x 0 then u * x else x.
Definition weight_of (r : row) : factor := match r with (c, _) :: _ => c | [] => (1%Q, None) end.
(* The features of the line that f is on. *)
Definition line_of length stride f : list nat :=
  map (fun j => (f / (length * stride) * length + j) * stride + f mod stride)%nat (seq 0 length).
Definition of_sample width b (l : list nat) := map (fun g => b * width + g)%nat l.
Definition line (ls : lines) f : list nat := match ls with
  | By n d => line_of n d f
  | Each _ width n d => of_sample width (f / width) (line_of n d (f mod width))
  | All count width n d => flat_map (fun b => of_sample width b (line_of n d (f mod width))) (seq 0 count) end.
Definition total_ (l : list R) : R := fold_right Rplus 0 l.
Section Features.
Variables e log root : R -> R.
Definition functionR f x := match f with Basic g => applied e log root g x | Softplus => log (1 + e x) end.
Definition softmaxR (l : list R) x := e x * / total_ (map e l).
Definition log_softmaxR (l : list R) x := x - log (total_ (map e l)).
Definition normalizedR eps (l : list R) x := let n := / INR (length l) in let mean := n * total_ l in
  (x - mean) * / root (Q2R eps + n * total_ (map (fun y => (y - mean) * (y - mean)) l)).
Definition by_lines (h : list R -> R -> R) (ls : lines) (xs : list R) : list R :=
  map (fun f => h (map (fun g => nth g xs 0) (line ls f)) (nth f xs 0)) (seq 0 (List.length xs)).
Definition featuresR ps x done (s : step) : list R := match s with
  | Linear rows => map (linearR ps x done) rows
  | Product rows => map (productsR done) rows
  | Window _ rows => map (windowR done) rows
  | Piecewise _ kinks pieces rows => map (fun r => pieceR kinks pieces (sourceR done (only r))) rows
  | Leaky _ _ rows => map (fun r => leakyR (factorR ps x (weight_of r)) (sourceR done (only r))) rows
  | OverRoot eps rows => map (fun r => sourceR done (only r) * / root (Q2R eps + factorR ps x (weight_of r))) rows
  | Dividing rows => map (dividingR ps x done) rows
  | Function f rows => map (fun r => functionR f (sourceR done (only r))) rows
  | Softmax ls rows => by_lines softmaxR ls (map (fun r => sourceR done (only r)) rows)
  | LogSoftmax ls rows => by_lines log_softmaxR ls (map (fun r => sourceR done (only r)) rows)
  | Normalize eps ls rows => by_lines (normalizedR eps) ls (map (fun r => sourceR done (only r)) rows) end.
Definition sampleR ps x (t : tape) (sample : list Q) : list R :=
  let done := fold_left (fun done s => done ++ [featuresR ps x done s]) (steps t) [map Q2R sample] in
  map (fun f => nth f (nth (last_step t) done []) 0) (last_features t).
End Features.

(* {1 Samples that depend on each other} *)

(* A batch whose statistics are of all samples is one sample, of all their features end to end. Each step is that of each
   sample; lines that are coupled go through all. *)
Definition rows_of_step (s : step) : list row := match s with
  | Linear l | Product l | Window _ l | Piecewise _ _ _ l | Leaky _ _ l | Dividing l | OverRoot _ l | Function _ l
  | Softmax _ l | LogSoftmax _ l | Normalize _ _ l => l end.
Definition with_rows (s : step) (ls : lines -> lines) (l : list row) : step := match s with
  | Linear _ => Linear l | Product _ => Product l | Window op _ => Window op l | Piecewise op k p _ => Piecewise op k p l
  | Leaky op k _ => Leaky op k l | Dividing _ => Dividing l | OverRoot e _ => OverRoot e l | Function f _ => Function f l
  | Softmax x _ => Softmax (ls x) l | LogSoftmax x _ => LogSoftmax (ls x) l
  | Normalize e x _ => Normalize e (ls x) l end.
Definition widths (t : tape) : list nat := length (hd [] (samples t)) :: map (fun s => length (rows_of_step s)) (steps t).
(* Each source is a feature that is there. *)
Definition in_range (t : tape) : bool := let ws := widths t in let there k f := Nat.ltb f (nth k ws 0%nat) in
  forallb (fun q => Nat.eqb (length q) (nth 0 ws 0%nat)) (samples t) &&
  forallb (fun s => forallb (forallb (fun x : factor * source_ => match snd x with Of k f => there k f | _ => true end))
    (rows_of_step s)) (steps t) && forallb (there (last_step t)) (last_features t).
Definition moved (ws : list nat) b (r : row) : row := map (fun x : factor * source_ => (fst x, match snd x with
  | Of s f => Of s (b * nth s ws 0 + f)%nat | o => o end)) r.
Definition joined_lines count width (ls : lines) : lines := match ls with
  | By n d => Each count width n d | All _ _ n d => All count width n d | Each _ _ _ _ => ls end.
Definition joined_step count ws (s : step) : step := with_rows s (joined_lines count (length (rows_of_step s)))
  (flat_map (fun b => map (moved ws b) (rows_of_step s)) (seq 0 count)).
Definition joined_tape (t : tape) : tape := let count := length (samples t) in let ws := widths t in
  {| samples := [concat (samples t)]; parameters := parameters t; steps := map (joined_step count ws) (steps t);
     last_step := last_step t;
     last_features := flat_map (fun b => of_sample (nth (last_step t) ws 0%nat) b (last_features t)) (seq 0 count) |}.
Definition couples (s : step) : bool := match s with
  | Softmax (All _ _ _ _) _ | LogSoftmax (All _ _ _ _) _ | Normalize _ (All _ _ _ _) _ => true | _ => false end.
(* The tape as it is, unless a step couples samples. *)
Definition whole_tape (t : tape) : tape := if existsb couples (steps t) then joined_tape t else t.

(* Of all that vary the first entries; what is stored. *)
Fixpoint places (varies : string -> bool) first (l : list (string * list Q)) : list place_of := match l with [] => []
  | (name, qs) :: l' => if varies name then (Some first, qs) :: places varies (first + length qs)%nat l'
                        else (None, qs) :: places varies first l' end.
Definition stored (varies : string -> bool) (t : tape) : list Q :=
  flat_map (fun p : string * list Q => if varies (fst p) then snd p else []) (parameters t).
(* F: the outputs of all samples, end to end, at parameters x. *)
Definition tape_value e log root varies (t : tape) : map_ := fun x j =>
  nth j (flat_map (sampleR e log root (places varies 0 (parameters t)) x t) (samples t)) 0.

(* {1 The program} *)

(* What is written so far, the last first; and the next slot. *)
Definition machine := (list gate * nat)%type.
Definition write o (m : machine) : nat * machine := (snd m, (o :: fst m, S (snd m))).
Definition slot_for v (m : machine) : nat * machine := match v with Slot k => (k, m)
  | Const q => write (Plain (Lin q [])) m end.
Fixpoint slots_for l (m : machine) : list nat * machine := match l with [] => ([], m)
  | v :: l' => let (k, m1) := slot_for v m in let (ks, m2) := slots_for l' m1 in (k :: ks, m2) end.

(* Numbers and slots of features of steps that are done; of parameters where they begin. *)
Definition done_ := tree (tree num).
Definition stored_at := tree (option nat * tree Q).
Definition source_num (D : done_) (s : source_) : option num := match s with
  | Of k f => match find k D with Some T => find f T | None => None end
  | One => Some (Const 1) | Pad => Some (Const 0) end.
Definition factor_num (ps : stored_at) (c : factor) : option num := match snd c with
  | None => Some (Const 1)
  | Some (p, e) => match find p ps with
    | Some (Some first, T) => match find e T with Some _ => Some (Slot (first + e)) | None => None end
    | Some (None, T) => match find e T with Some q => Some (Const q) | None => None end
    | None => None end end.
(* A number, terms, products. *)
Definition amount := (Q * list (Q * nat) * list (Q * (nat * nat)))%type.
Section Unroll.
(* Are products kept in sums? Else they are instructions of their own, as programs have them. *)
Variable fused : bool.
(* c times u v, added. *)
Definition add_term c u v (a : amount) m : amount * machine := let '(q, l, p) := a in match u, v with
  | Const a, Const b => ((qadd q (qmul c (qmul a b)), l, p), m)
  | Const a, Slot k | Slot k, Const a => if qz (qmul c a) then ((q, l, p), m) else ((q, (qmul c a, k) :: l, p), m)
  | Slot i, Slot j => if qz c then ((q, l, p), m) else if fused then ((q, l, (c, (i, j)) :: p), m)
      else let (k, m') := write (Plain (Mul i j)) m in ((q, (c, k) :: l, p), m') end.
Fixpoint add_terms ps D (r : row) a m : option (amount * machine) := match r with [] => Some (a, m)
  | (c, s) :: r' => match factor_num ps c, source_num D s with
    | Some u, Some v => let (a', m') := add_term (fst c) u v a m in add_terms ps D r' a' m'
    | _, _ => None end end.
Definition end_sum (x : amount * machine) : num * machine := let '((q, l, p), m) := x in match l, p with
  | [], [] => (Const q, m)
  | _, [] => let (k, m') := write (Plain (Lin q l)) m in (Slot k, m')
  | _, _ => let (k, m') := write (Dot q l p) m in (Slot k, m') end.
Definition nothing : amount := (0%Q, [], []).
(* 1 over a number; of one that is known, unless it is 0. *)
Definition inverse_num v m : option (num * machine) := match v with
  | Const q => if qz q then None else Some (Const (Qinv q), m)
  | Slot k => let (i, m') := write (Fun Inverse k) m in Some (Slot i, m') end.
Fixpoint add_quotients ps D (r : row) a m : option (amount * machine) := match r with [] => Some (a, m)
  | (c, s) :: r' => match factor_num ps c, source_num D s with
    | Some u, Some v => match inverse_num u m with
      | Some (i, m1) => let (a', m') := add_term (fst c) i v a m1 in add_quotients ps D r' a' m'
      | None => None end
    | _, _ => None end end.
Definition linear_num ps D r m : option (num * machine) := match add_terms ps D r nothing m with
  | Some x => Some (end_sum x) | None => None end.
Definition dividing_num ps D r m : option (num * machine) := match add_quotients ps D r nothing m with
  | Some x => Some (end_sum x) | None => None end.
Fixpoint add_products D (r : row) a m : option (amount * machine) := match r with
  | [] => Some (a, m)
  | (_, x) :: (_, y) :: r' => match source_num D x, source_num D y with
    | Some u, Some v => let (a', m') := add_term 1 u v a m in add_products D r' a' m'
    | _, _ => None end
  | _ => None end.
Definition product_num D r m : option (num * machine) := match add_products D r nothing m with
  | Some x => Some (end_sum x) | None => None end.
Fixpoint load_from {A} (l : list A) k T : tree A := match l with [] => T | x :: l' => load_from l' (S k) (put k x T) end.
Fixpoint source_nums D (l : list source_) : option (list num) := match l with [] => Some []
  | s :: l' => match source_num D s, source_nums D l' with Some v, Some vs => Some (v :: vs) | _, _ => None end end.
Definition window_num D (u : pick) beta r m : option (num * machine) := match source_nums D (present r) with
  | Some (v :: vs) => let (ks, m1) := slots_for (v :: vs) m in let (k,
    m2) := write (Plain (Kth 1 ks u beta)) m1 in Some (Slot k, m2)
  | _ => None end.
(* The slope of a piece at a. *)
Definition tangent (p : piece) a := qadd (c1 p) (qmul (qmul 2 (c2 p)) a).
(* At kinks behind one another: the first piece, and for each kink what bends: a kink at 0 of y, x less its place, and its
   product with y. Where no slope changes, y's square above 0. AD's slopes: ps. *)
Definition bend (p q : piece) a := qsub (tangent q a) (tangent p a).
Definition curve (p q : piece) := qsub (c2 q) (c2 p).
Definition add_curve (p q : piece) a k y m : list (Q * nat) * machine := if qz (curve p q) then ([], m) else
  let (j, m') := write (Plain (Mul k y)) m in ([(qmul (curve p q) (Qinv (bend p q a)), j)], m').
Fixpoint add_kinks i (kinks : list (nat * Q)) (p : piece) (pieces : list piece) (ps : list Q) m : list (Q * nat) * machine :=
  match kinks, pieces, ps with
  | (_, a) :: kinks', q :: pieces', s :: ps' =>
      let (y, m1) := write (Plain (Lin (qmul (-1) a) [(1%Q, i)])) m in
      if negb (qz (curve p q)) && qz (bend p q a) then let (k, m2) := write (Fun SquareAbove y) m1 in
        let (l, m3) := add_kinks i kinks' q pieces' ps' m2 in ((curve p q, k) :: l, m3) else
      let (k, m2) := write (Plain (Kink y 0 (bend p q a) (qsub s (tangent p a)))) m1 in
      let (t, m3) := add_curve p q a k y m2 in
      let (l, m4) := add_kinks i kinks' q pieces' ps' m3 in ((1%Q, k) :: t ++ l, m4)
  | _, _, _ => ([], m) end.
Definition add_square (p : piece) i m : list (Q * nat) * machine := if qz (c2 p) then ([], m) else
  let (j, m') := write (Plain (Mul i i)) m in ([(c2 p, j)], m').
Definition general i kinks p pieces ps m : option (num * machine) :=
  let (l, m1) := add_kinks i kinks p pieces ps m in let (t, m2) := add_square p i m1 in
  let (k, m3) := write (Plain (Lin (c0 p) ((c1 p, i) :: t ++ l))) m2 in Some (Slot k, m3).
Definition through_0 (p : piece) := qz (c0 p) && qz (c2 p).
Definition piece_num kinks (pieces : list piece) (ps : list Q) v m : option (num * machine) := match pieces with
  | p :: pieces' => let (i, m1) := slot_for v m in
      match kinks, pieces', ps with
      | [(_, a)], [q], [s] => if qz a && through_0 p && through_0 q
          then let (k, m2) := write (Plain (Kink i (c1 p) (c1 q) s)) m1 in Some (Slot k, m2)
          else general i kinks p pieces' ps m1
      | _, _, _ => general i kinks p pieces' ps m1 end
  | [] => None end.
(* One piece goes over into the next; and kinks come in their order. *)
Definition on_ (p : piece) x := qadd (qadd (c0 p) (qmul (c1 p) x)) (qmul (c2 p) (qmul x x)).
Fixpoint joins (kinks : list (nat * Q)) (pieces : list piece) : bool := match kinks, pieces with
  | [], [_] => true
  | (_, a) :: kinks', p :: pieces' => match pieces' with
      | q :: _ => Qeq_bool (on_ p a) (on_ q a) | [] => false end
      && match kinks' with (_, b) :: _ => match (a ?= b)%Q with Lt => true | _ => false end | [] => true end
      && joins kinks' pieces'
  | _, _ => false end.
(* AD's slope at a kink, by its rule; without one where the slope is the same on both sides. *)
Definition slope_of (r : rules) op k (p q : piece) a : option Q := match slope_at r NoBrace op k (tangent p a) (tangent q a)
  with
  | Some s => Some s | None => if qz (bend p q a) then Some (tangent p a) else None end.
Fixpoint ad_slopes (r : rules) op (kinks : list (nat * Q)) (pieces : list piece) : option (list Q) := match kinks, pieces with
  | (k, a) :: kinks', p :: pieces' =>
      match slope_of r op k p (hd (0, 0, 0)%Q pieces') a, ad_slopes r op kinks' pieces' with
      | Some s, Some l => Some (s :: l) | _, _ => None end
  | _, _ => Some [] end.
(* Where a slope is the same on both sides of a curve's end, it is AD's. *)
Fixpoint kept_slopes (kinks : list (nat * Q)) (pieces : list piece) (ps : list Q) : bool := match kinks, pieces, ps with
  | (_, a) :: kinks', p :: (q :: _) as pieces', s :: ps' =>
      (qz (curve p q) || negb (qz (bend p q a)) || Qeq_bool s (tangent p a)) && kept_slopes kinks' pieces' ps'
  | _, _, _ => true end.
(* relu x, and the factor times what is left of it. AD's slope is the factor or 1, of relu 0 or 1. *)
Definition leaky_num s u v m : option (num * machine) :=
  let (i, m1) := slot_for v m in let (k, m2) := write (Plain (Kink i 0 1 s)) m1 in
  let (j, m3) := write (Plain (Lin 0 [(1%Q, i); ((-1)%Q, k)])) m2 in Some (end_sum (add_term (fst u) (snd u) (Slot j) (0%Q,
    [(1%Q, k)], []) m3)).
Definition leaky_slope (r : rules) op k : option Q := match kink_rule r op k with
  | Some AtLeft => Some 0%Q | Some AtRight => Some 1%Q | _ => None end.

(* eps plus u, its root, and v over that. *)
Definition over_root_num eps c u v m : option (num * machine) :=
  let (x, m1) := end_sum (add_term c u (Const 1) (eps, [], []) m) in let (k, m2) := slot_for x m1 in
  let (r, m3) := write (Fun Root k) m2 in let (i, m4) := write (Fun Inverse r) m3 in let (j, m5) := slot_for v m4 in
  let (o, m6) := write (Plain (Mul j i)) m5 in Some (Slot o, m6).

Definition function_num f v m : option (num * machine) := let (i, m1) := slot_for v m in match f with
  | Basic g => let (k, m2) := write (Fun g i) m1 in Some (Slot k, m2)
  | Softplus => let (k, m2) := write (Fun Exp i) m1 in let (t, m3) := write (Plain (Lin 1 [(1%Q, k)])) m2 in
      let (l, m4) := write (Fun Log t) m3 in Some (Slot l, m4) end.

(* Lines: of the slots of a line's entries what they become. *)
Fixpoint write_each (h : nat -> gate) (l : list nat) m : list nat * machine := match l with [] => ([], m)
  | k :: l' => let (o, m1) := write (h k) m in let (os, m2) := write_each h l' m1 in (o :: os, m2) end.
Definition all_with (q : Q) (l : list nat) := map (fun k => (q, k)) l.
Definition softmax_nums (l : list nat) m : list nat * machine :=
  let (es, m1) := write_each (Fun Exp) l m in let (t, m2) := write (Plain (Lin 0 (all_with 1 es))) m1 in
  let (i, m3) := write (Fun Inverse t) m2 in write_each (fun k => Plain (Mul k i)) es m3.
Definition log_softmax_nums (l : list nat) m : list nat * machine :=
  let (es, m1) := write_each (Fun Exp) l m in let (t, m2) := write (Plain (Lin 0 (all_with 1 es))) m1 in
  let (g, m3) := write (Fun Log t) m2 in write_each (fun k => Plain (Lin 0 [(1%Q, k); ((-1)%Q, g)])) l m3.
Definition normalize_nums eps (l : list nat) m : list nat * machine := let n := (1 # Pos.of_nat (length l))%Q in
  let (mean, m1) := write (Plain (Lin 0 (all_with n l))) m in
  let (cs, m2) := write_each (fun k => Plain (Lin 0 [(1%Q, k); ((-1)%Q, mean)])) l m1 in
  let (v, m3) := write (Dot eps [] (map (fun k => (n, (k, k))) cs)) m2 in
  let (r, m4) := write (Fun Root v) m3 in let (i, m5) := write (Fun Inverse r) m4 in
  write_each (fun k => Plain (Mul k i)) cs m5.
Definition same_list (a b : list nat) := if list_eq_dec Nat.eq_dec a b then true else false.
Fixpoint put_all (fs os : list nat) (T : tree num) := match fs, os with f :: fs', o :: os' => put_all fs' os' (put f (Slot o) T)
  | _, _ => T end.
(* Each feature's line, unless it was met before. *)
Fixpoint each_line (h : list nat -> machine -> list nat * machine) ls (all : tree nat) (count : nat) (fs : list nat) T m :
  option (tree num * machine) := match fs with [] => Some (T, m)
  | f :: fs' => match find f T with Some _ => each_line h ls all count fs' T m | None =>
      let l := line ls f in
      if Nat.ltb 0 (length l) && forallb (fun g => Nat.ltb g count && same_list (line ls g) l) l then
        match fold_right (fun g r => match r, find g all with Some ks, Some k => Some (k :: ks) | _,
          _ => None end) (Some []) l with
        | Some ks => let (os, m') := h ks m in each_line h ls all count fs' (put_all l os T) m'
        | None => None end
      else None end end.
Definition lines_nums h ls D (rows : list row) m : option (tree num * machine) := match source_nums D (map only rows) with
  | Some vs => let (ks, m1) := slots_for vs m in
      each_line h ls (load_from ks 0 Empty) (length ks) (seq 0 (length ks)) Empty m1
  | None => None end.

Fixpoint each_row (f : row -> machine -> option (num * machine)) (rows : list row) k T m : option (tree num * machine) :=
  match rows with [] => Some (T, m)
  | r :: rows' => match f r m with Some (v, m') => each_row f rows' (S k) (put k v T) m' | None => None end end.
Definition step_nums rl ps D (s : step) m : option (tree num * machine) := match s with
  | Linear rows => each_row (linear_num ps D) rows 0 Empty m
  | Product rows => each_row (product_num D) rows 0 Empty m
  | Window op rows => match tie_rule rl NoBrace op with
      | Some (u, beta) => each_row (window_num D u beta) rows 0 Empty m | None => None end
  | Piecewise op kinks pieces rows => match ad_slopes rl op kinks pieces with
      | Some slopes => if joins kinks pieces && kept_slopes kinks pieces slopes
          then each_row (fun r m => match source_num D (only r) with
            | Some v => piece_num kinks pieces slopes v m | None => None end) rows 0 Empty m
          else None
      | None => None end
  | Leaky op k rows => match leaky_slope rl op k with
      | Some s => each_row (fun r m => match factor_num ps (weight_of r), source_num D (only r) with
          | Some u, Some v => leaky_num s (fst (weight_of r), u) v m | _, _ => None end) rows 0 Empty m
      | None => None end
  | OverRoot eps rows => each_row (fun r m => match factor_num ps (weight_of r), source_num D (only r) with
      | Some u, Some v => over_root_num eps (fst (weight_of r)) u v m | _, _ => None end) rows 0 Empty m
  | Dividing rows => each_row (dividing_num ps D) rows 0 Empty m
  | Function f rows => each_row (fun r m => match source_num D (only r) with
      | Some v => function_num f v m | None => None end) rows 0 Empty m
  | Softmax ls rows => lines_nums softmax_nums ls D rows m
  | LogSoftmax ls rows => lines_nums log_softmax_nums ls D rows m
  | Normalize eps ls rows => lines_nums (normalize_nums eps) ls D rows m end.
Fixpoint steps_nums rl ps (l : list step) k D m : option (done_ * machine) := match l with [] => Some (D, m)
  | s :: l' => match step_nums rl ps D s m with
    | Some (T, m') => steps_nums rl ps l' (S k) (put k T D) m' | None => None end end.
Fixpoint outputs_of (T : tree num) (l : list nat) m : option (list nat * machine) := match l with [] => Some ([], m)
  | f :: l' => match find f T with
    | Some v => let (k, m1) := slot_for v m in match outputs_of T l' m1 with
      | Some (ks, m2) => Some (k :: ks, m2) | None => None end
    | None => None end end.
Definition sample_nums rl ps (t : tape) (sample : list Q) m : option (list nat * machine) :=
  match steps_nums rl ps (steps t) 1 (put 0 (load_from (map Const sample) 0 Empty) Empty) m with
  | Some (D, m') => match find (last_step t) D with Some T => outputs_of T (last_features t) m' | None => None end
  | None => None end.
Fixpoint samples_nums rl ps t (l : list (list Q)) m : option (list nat * machine) := match l with [] => Some ([], m)
  | q :: l' => match sample_nums rl ps t q m with
    | Some (ks, m1) => match samples_nums rl ps t l' m1 with Some (js, m2) => Some (ks ++ js, m2) | None => None end
    | None => None end end.
Definition stores (l : list place_of) : stored_at := load_from (map (fun p => (fst p, load_from (snd p) 0 Empty)) l) 0 Empty.
(* The program of a tape, with its outputs. *)
Definition unroll rl varies (t : tape) : option (list gate * list nat) :=
  match samples_nums rl (stores (places varies 0 (parameters t))) t (samples t) ([], length (stored varies t)) with
  | Some (outs, (code, _)) => Some (rev' code, outs) | None => None end.
End Unroll.
