(* Tapes (docs/tape.md): networks as numbered steps. What they mean over the reals, and the program that one is. *)
From Coq Require Import QArith Qreals Reals Lra Lia String List Bool.
From Clarke Require Import Space Numbers Program Rank Text Store.
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
(* Each feature has a row of terms; Piecewise and Window read the sources alone, Piecewise one. *)
Inductive step :=
| Linear (rows : list row)
| Product (rows : list row)                                        (* two sources after two are multiplied *)
| Window (op : string) (rows : list row)
| Piecewise (op : string) (kinks : list (nat * Q)) (pieces : list piece) (rows : list row)
| Leaky (op : string) (k : nat) (rows : list row). (* the source x, and left of 0 the factor times x *)

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
Definition featuresR ps x done (s : step) : list R := match s with
  | Linear rows => map (linearR ps x done) rows
  | Product rows => map (productsR done) rows
  | Window _ rows => map (windowR done) rows
  | Piecewise _ kinks pieces rows => map (fun r => pieceR kinks pieces (sourceR done (only r))) rows
  | Leaky _ _ rows => map (fun r => leakyR (factorR ps x (weight_of r)) (sourceR done (only r))) rows end.
Definition sampleR ps x (t : tape) (sample : list Q) : list R :=
  let done := fold_left (fun done s => done ++ [featuresR ps x done s]) (steps t) [map Q2R sample] in
  map (fun f => nth f (nth (last_step t) done []) 0) (last_features t).

(* Of all that vary the first entries; what is stored. *)
Fixpoint places (varies : string -> bool) first (l : list (string * list Q)) : list place_of := match l with [] => []
  | (name, qs) :: l' => if varies name then (Some first, qs) :: places varies (first + length qs)%nat l'
                        else (None, qs) :: places varies first l' end.
Definition stored (varies : string -> bool) (t : tape) : list Q :=
  flat_map (fun p : string * list Q => if varies (fst p) then snd p else []) (parameters t).
(* F: the outputs of all samples, end to end, at parameters x. *)
Definition tape_value varies (t : tape) : map_ := fun x j =>
  nth j (flat_map (sampleR (places varies 0 (parameters t)) x t) (samples t)) 0.

(* {1 The program} *)

(* What is written so far, the last first; and the next slot. *)
Definition machine := (list instr * nat)%type.
Definition write o (m : machine) : nat * machine := (snd m, (o :: fst m, S (snd m))).
Definition slot_for v (m : machine) : nat * machine := match v with Slot k => (k, m) | Const q => write (Lin q []) m end.
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
(* c times u v, added to the constant q and the terms l. *)
Definition add_term c u v q (l : list (Q * nat)) m : Q * list (Q * nat) * machine := match u, v with
  | Const a, Const b => (qadd q (qmul c (qmul a b)), l, m)
  | Const a, Slot k | Slot k, Const a => if qz (qmul c a) then (q, l, m) else (q, (qmul c a, k) :: l, m)
  | Slot i, Slot j => if qz c then (q, l, m) else let (k, m') := write (Mul i j) m in (q, (c, k) :: l, m') end.
Fixpoint add_terms ps D (r : row) q l m : option (Q * list (Q * nat) * machine) := match r with [] => Some (q, l, m)
  | (c, s) :: r' => match factor_num ps c, source_num D s with
    | Some u, Some v => let '(q', l', m') := add_term (fst c) u v q l m in add_terms ps D r' q' l' m'
    | _, _ => None end end.
Definition end_sum (x : Q * list (Q * nat) * machine) : num * machine := let '(q, l, m) := x in match l with
  | [] => (Const q, m) | _ => let (k, m') := write (Lin q l) m in (Slot k, m') end.
Definition linear_num ps D r m : option (num * machine) := match add_terms ps D r 0 [] m with
  | Some x => Some (end_sum x) | None => None end.
Fixpoint add_products D (r : row) q l m : option (Q * list (Q * nat) * machine) := match r with
  | [] => Some (q, l, m)
  | (_, a) :: (_, b) :: r' => match source_num D a, source_num D b with
    | Some u, Some v => let '(q', l', m') := add_term 1 u v q l m in add_products D r' q' l' m'
    | _, _ => None end
  | _ => None end.
Definition product_num D r m : option (num * machine) := match add_products D r 0 [] m with
  | Some x => Some (end_sum x) | None => None end.
Fixpoint source_nums D (l : list source_) : option (list num) := match l with [] => Some []
  | s :: l' => match source_num D s, source_nums D l' with Some v, Some vs => Some (v :: vs) | _, _ => None end end.
Definition window_num D (u : pick) beta r m : option (num * machine) := match source_nums D (present r) with
  | Some (v :: vs) => let (ks, m1) := slots_for (v :: vs) m in let (k, m2) := write (Kth 1 ks u beta) m1 in Some (Slot k, m2)
  | _ => None end.
(* The slope of a piece at a. *)
Definition tangent (p : piece) a := qadd (c1 p) (qmul (qmul 2 (c2 p)) a).
(* At kinks behind one another: the first piece, and for each kink what bends: a kink at 0 of y, x less its place, and its
   product with y. AD's slopes: ps. *)
Definition bend (p q : piece) a := qsub (tangent q a) (tangent p a).
Definition curve (p q : piece) := qsub (c2 q) (c2 p).
Definition add_curve (p q : piece) a k y m : list (Q * nat) * machine := if qz (curve p q) then ([], m) else
  let (j, m') := write (Mul k y) m in ([(qmul (curve p q) (Qinv (bend p q a)), j)], m').
Fixpoint add_kinks i (kinks : list (nat * Q)) (p : piece) (pieces : list piece) (ps : list Q) m : list (Q * nat) * machine :=
  match kinks, pieces, ps with
  | (_, a) :: kinks', q :: pieces', s :: ps' =>
      let (y, m1) := write (Lin (qmul (-1) a) [(1%Q, i)]) m in
      let (k, m2) := write (Kink y 0 (bend p q a) (qsub s (tangent p a))) m1 in
      let (t, m3) := add_curve p q a k y m2 in
      let (l, m4) := add_kinks i kinks' q pieces' ps' m3 in ((1%Q, k) :: t ++ l, m4)
  | _, _, _ => ([], m) end.
Definition add_square (p : piece) i m : list (Q * nat) * machine := if qz (c2 p) then ([], m) else
  let (j, m') := write (Mul i i) m in ([(c2 p, j)], m').
Definition general i kinks p pieces ps m : option (num * machine) :=
  let (l, m1) := add_kinks i kinks p pieces ps m in let (t, m2) := add_square p i m1 in
  let (k, m3) := write (Lin (c0 p) ((c1 p, i) :: t ++ l)) m2 in Some (Slot k, m3).
Definition through_0 (p : piece) := qz (c0 p) && qz (c2 p).
Definition piece_num kinks (pieces : list piece) (ps : list Q) v m : option (num * machine) := match pieces with
  | p :: pieces' => let (i, m1) := slot_for v m in
      match kinks, pieces', ps with
      | [(_, a)], [q], [s] => if qz a && through_0 p && through_0 q
          then let (k, m2) := write (Kink i (c1 p) (c1 q) s) m1 in Some (Slot k, m2)
          else general i kinks p pieces' ps m1
      | _, _, _ => general i kinks p pieces' ps m1 end
  | [] => None end.
(* One piece goes over into the next, with another slope unless both are straight; and kinks come in their order. *)
Definition on_ (p : piece) x := qadd (qadd (c0 p) (qmul (c1 p) x)) (qmul (c2 p) (qmul x x)).
Fixpoint joins (kinks : list (nat * Q)) (pieces : list piece) : bool := match kinks, pieces with
  | [], [_] => true
  | (_, a) :: kinks', p :: pieces' => match pieces' with
      | q :: _ => Qeq_bool (on_ p a) (on_ q a) && (qz (curve p q) || negb (qz (bend p q a))) | [] => false end
      && match kinks' with (_, b) :: _ => match (a ?= b)%Q with Lt => true | _ => false end | [] => true end
      && joins kinks' pieces'
  | _, _ => false end.
Fixpoint ad_slopes (r : rules) op (kinks : list (nat * Q)) (pieces : list piece) : option (list Q) := match kinks, pieces with
  | (k, a) :: kinks', p :: pieces' =>
      match slope_at r NoBrace op k (tangent p a) (tangent (hd (0, 0, 0)%Q pieces') a), ad_slopes r op kinks' pieces' with
      | Some s, Some l => Some (s :: l) | _, _ => None end
  | _, _ => Some [] end.
(* relu x, and the factor times what is left of it. AD's slope is the factor or 1, of relu 0 or 1. *)
Definition leaky_num s u v m : option (num * machine) :=
  let (i, m1) := slot_for v m in let (k, m2) := write (Kink i 0 1 s) m1 in
  let (j, m3) := write (Lin 0 [(1%Q, i); ((-1)%Q, k)]) m2 in Some (end_sum (add_term (fst u) (snd u) (Slot j) 0 [(1%Q, k)] m3)).
Definition leaky_slope (r : rules) op k : option Q := match kink_rule r op k with
  | Some AtLeft => Some 0%Q | Some AtRight => Some 1%Q | _ => None end.

Fixpoint each_row (f : row -> machine -> option (num * machine)) (rows : list row) k T m : option (tree num * machine) :=
  match rows with [] => Some (T, m)
  | r :: rows' => match f r m with Some (v, m') => each_row f rows' (S k) (put k v T) m' | None => None end end.
Definition step_nums rl ps D (s : step) m : option (tree num * machine) := match s with
  | Linear rows => each_row (linear_num ps D) rows 0 Empty m
  | Product rows => each_row (product_num D) rows 0 Empty m
  | Window op rows => match tie_rule rl NoBrace op with
      | Some (u, beta) => each_row (window_num D u beta) rows 0 Empty m | None => None end
  | Piecewise op kinks pieces rows => match ad_slopes rl op kinks pieces with
      | Some slopes => if joins kinks pieces
          then each_row (fun r m => match source_num D (only r) with
            | Some v => piece_num kinks pieces slopes v m | None => None end) rows 0 Empty m
          else None
      | None => None end
  | Leaky op k rows => match leaky_slope rl op k with
      | Some s => each_row (fun r m => match factor_num ps (weight_of r), source_num D (only r) with
          | Some u, Some v => leaky_num s (fst (weight_of r), u) v m | _, _ => None end) rows 0 Empty m
      | None => None end end.
Fixpoint steps_nums rl ps (l : list step) k D m : option (done_ * machine) := match l with [] => Some (D, m)
  | s :: l' => match step_nums rl ps D s m with
    | Some (T, m') => steps_nums rl ps l' (S k) (put k T D) m' | None => None end end.
Fixpoint load_from {A} (l : list A) k T : tree A := match l with [] => T | x :: l' => load_from l' (S k) (put k x T) end.
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
Definition program_of (code : list instr) : program := fold_left (fun P o => (no_hint, o) :: P) code [].
(* The program of a tape, with its outputs. *)
Definition unroll rl varies (t : tape) : option (program * list nat) :=
  match samples_nums rl (stores (places varies 0 (parameters t))) t (samples t) ([], length (stored varies t)) with
  | Some (outs, (code, _)) => Some (program_of code, outs) | None => None end.
