(* The text of a program (docs/programs.md), read: words, then statements, each instruction in the order of the text.
   None: the text is outside of what is read here, or no program. Of the analytic functions sin, cos, erf and elu with a
     number are
   outside; so are numbers with a format or in hexadecimal. *)
From Coq Require Import QArith Ascii String List Bool.
From Clarke Require Import Numbers Program Gate.
Import ListNotations.
Local Open Scope nat_scope.
Local Open Scope char_scope.

Notation "x <- a ;; b" := (match a with Some x => b | None => None end) (at level 61, a at next level, right associativity).
Notation "' p <- a ;; b" := (match a with Some p => b | None => None end)
  (at level 61, p pattern, a at next level, right associativity).

(* {1 Words} *)

Inductive word := Name (s : string) | Number (q : Q) | Relation (r : relation) | Sign (c : ascii) | Stop.

Definition code c : Z := Z.of_N (N_of_ascii c).
Definition between lo hi c := (lo <=? code c)%Z && (code c <=? hi)%Z.
Definition digit := between 48 57.
Definition letter c := between 65 90 c || between 97 122 c || Ascii.eqb c "_".
Definition newline : ascii := "010".
Definition tab : ascii := "009".
Definition return_ : ascii := "013".
Definition ends_line t := match t with c :: _ => Ascii.eqb c newline | [] => false end.

Fixpoint span (p : ascii -> bool) (t : list ascii) : list ascii * list ascii := match t with
  | c :: t' => if p c then let (a, b) := span p t' in (c :: a, b) else ([], t)
  | [] => ([], []) end.
Definition digits_value (l : list ascii) : Z := fold_left (fun z c => (10 * z + (code c - 48))%Z) l 0%Z.
Fixpoint ten_to (k : nat) : Z := match k with O => 1%Z | S k' => (10 * ten_to k')%Z end.
(* m times 10^(e - f). *)
Definition decimal (m : Z) (e : Z) (f : nat) : Q := let k := (e - Z.of_nat f)%Z in
  if (0 <=? k)%Z then Qred (Qmake (m * ten_to (Z.to_nat k))%Z 1) else Qred (Qmake m (Z.to_pos (ten_to (Z.to_nat (- k)%Z)))).
Definition exponent (t : list ascii) : option (Z * list ascii) := match t with
  | c :: t' => if Ascii.eqb c "e" || Ascii.eqb c "E" then
      let (minus, t'') := match t' with
        | d :: r => if Ascii.eqb d "-" then (true, r) else if Ascii.eqb d "+" then (false, r) else (false, t')
        | [] => (false, []) end in
      let (d, r) := span digit t'' in let z := digits_value d in
      if Nat.eqb (length d) 0 || (4096 <? z)%Z then None else Some (if minus then (- z)%Z else z, r)
    else Some (0%Z, t)
  | [] => Some (0%Z, []) end.
(* Digits, a point, digits, an exponent. What follows is no letter, no digit and no point. *)
Definition number (t : list ascii) : option (Q * list ascii) :=
  let (whole, t1) := span digit t in
  let (part, t2) := match t1 with c :: r => if Ascii.eqb c "." then span digit r else ([], t1) | [] => ([], []) end in
  '(e, t3) <- exponent t2 ;;
  if Nat.eqb (length (whole ++ part)) 0 then None
  else match t3 with
    | c :: _ => if letter c || digit c || Ascii.eqb c "." then None
                else Some (decimal (digits_value (whole ++ part)) e (length part), t3)
    | [] => Some (decimal (digits_value (whole ++ part)) e (length part), []) end.

Definition relation_of c (equal : bool) : option relation :=
  if Ascii.eqb c "<" then Some (if equal then RLe else RLt) else if Ascii.eqb c ">" then Some (if equal then RGe else RGt)
  else if negb equal then None else if Ascii.eqb c "=" then Some REq else if Ascii.eqb c "!" then Some RNe else None.
Definition opens c := Ascii.eqb c "(" || Ascii.eqb c "[" || Ascii.eqb c "{".
Definition closes c := Ascii.eqb c ")" || Ascii.eqb c "]" || Ascii.eqb c "}".
Definition signs := list_ascii_of_string ",=+-*/()[]{}:".

(* What a comment may hold: tabs, and UTF-8 without control characters, in the shortest form. *)
Definition tail_of (t : list ascii) (k : nat) (v : Z) : option Z :=
  let more v c := v <- v ;; if between 128 191 c then Some (64 * v + (code c - 128))%Z else None in
  fold_left more (firstn k t) (if Nat.ltb (length t) k then None else Some v).
Fixpoint is_text fuel (t : list ascii) : bool := match fuel, t with
  | _, [] => true | O, _ => false
  | S fuel', c :: r =>
    if Ascii.eqb c tab || between 32 126 c then is_text fuel' r
    else if between 192 223 c then match tail_of r 1 (code c - 192) with
      | Some v => (160 <=? v)%Z && is_text fuel' (skipn 1 r) | None => false end
    else if between 224 239 c then match tail_of r 2 (code c - 224) with
      | Some v => (2048 <=? v)%Z && negb ((55296 <=? v)%Z && (v <? 57344)%Z) && is_text fuel' (skipn 2 r) | None => false end
    else if between 240 247 c then match tail_of r 3 (code c - 240) with
      | Some v => (65536 <=? v)%Z && (v <=? 1114111)%Z && is_text fuel' (skipn 3 r) | None => false end
    else false end.
(* Without the carriage return of its end. *)
Definition comment (t r : list ascii) := match rev t with
  | c :: t' => if Ascii.eqb c return_ && ends_line r then rev t' else t | [] => t end.

(* Inside of brackets (depth of them) a statement goes on over lines. *)
Fixpoint words fuel depth (t : list ascii) : option (list word) := match fuel, t with
  | _, [] => Some []
  | O, _ => None
  | S fuel', c :: r =>
    if Ascii.eqb c " " || Ascii.eqb c tab || (Ascii.eqb c return_ && ends_line r) then words fuel' depth r
    else if Ascii.eqb c newline then l <- words fuel' depth r ;; Some (if Nat.eqb depth 0 then Stop :: l else l)
    else if Ascii.eqb c "#" then let (a, b) := span (fun c => negb (Ascii.eqb c newline)) r in
      if is_text (length a) (comment a b) then words fuel' depth b else None
    else if letter c then let (a, b) := span (fun c => letter c || digit c) t in
      l <- words fuel' depth b ;; Some (Name (string_of_list_ascii a) :: l)
    else if digit c || (Ascii.eqb c "." && match r with d :: _ => digit d | [] => false end) then
      '(q, b) <- number t ;; l <- words fuel' depth b ;; Some (Number q :: l)
    else let equal := match r with d :: _ => Ascii.eqb d "=" | [] => false end in
      match relation_of c equal with
      | Some rel => l <- words fuel' depth (if equal then tl r else r) ;; Some (Relation rel :: l)
      | None => if existsb (Ascii.eqb c) signs
          then l <- words fuel' (if opens c then S depth else if closes c then pred depth else depth) r ;; Some (Sign c :: l)
          else None end end.

(* {1 Operands} *)

(* A number that is known, or a slot. A vector, or a scalar: a list of one. *)
Inductive num := Const (q : Q) | Slot (k : nat).
Definition operand := (bool * list num)%type.

(* What was read so far: the words that are left; instructions, the last first, and the next one's slot. *)
Record state := { left : list word; written : list gate; next : nat }.
Definition pass s := {| left := tl (left s); written := written s; next := next s |}.
Definition emit_gate g s := (next s, {| left := left s; written := g :: written s; next := S (next s) |}).
Definition emit o s := emit_gate (Plain o) s.

Definition slot_of x s := match x with Slot k => (k, s) | Const q => emit (Lin q []) s end.
Fixpoint slots_of l s := match l with [] => ([], s)
  | x :: l' => let (k, s1) := slot_of x s in let (ks, s2) := slots_of l' s1 in (k :: ks, s2) end.
(* c times the sum of l. *)
Definition total c (l : list num) s : num * state :=
  let q := fold_left (fun a x => match x with Const q => qadd a (qmul c q) | _ => a end) l 0%Q in
  let ks := flat_map (fun x => match x with Slot k => [(c, k)] | _ => [] end) l in
  match ks with [] => (Const q, s) | _ => let (k, s') := emit (Lin q ks) s in (Slot k, s') end.

Definition scale c x s : num * state := total c [x] s.
Definition plus c x y s : num * state := match x, y with
  | Const p, Const q => (Const (qadd p (qmul c q)), s)
  | Const p, Slot j => let (k, s') := emit (Lin p [(c, j)]) s in (Slot k, s')
  | Slot i, Const q => let (k, s') := emit (Lin (qmul c q) [(1%Q, i)]) s in (Slot k, s')
  | Slot i, Slot j => let (k, s') := emit (Lin 0 [(1%Q, i); (c, j)]) s in (Slot k, s') end.
Definition times x y s : num * state := match x, y with
  | Const p, _ => scale p y s | _, Const q => scale q x s
  | Slot i, Slot j => let (k, s') := emit (Mul i j) s in (Slot k, s') end.
Definition over x y s : option (num * state) := match y with
  | Const q => if qz q then None else Some (scale (Qinv q) x s)
  | Slot k => let (i, s1) := emit_gate (Fun Inverse k) s in Some (times x (Slot i) s1) end.
Definition arithmetic (c : ascii) x y s : option (num * state) :=
  if Ascii.eqb c "+" then Some (plus 1 x y s) else if Ascii.eqb c "-" then Some (plus (-1) x y s)
  else if Ascii.eqb c "*" then Some (times x y s) else over x y s.

(* Entry by entry; a scalar stands for as many copies. *)
Fixpoint entrywise (f : num -> num -> state -> option (num * state)) (l : list (num * num)) s : option (list num * state) :=
  match l with [] => Some ([], s)
  | (x, y) :: l' => '(z, s1) <- f x y s ;; '(zs, s2) <- entrywise f l' s1 ;; Some (z :: zs, s2) end.
Definition pairs (a b : operand) : option (list (num * num)) := match a, b with
  | (true, l), (true, k) => if Nat.eqb (length l) (length k) then Some (combine l k) else None
  | (true, l), (false, [y]) => Some (map (fun x => (x, y)) l)
  | (false, [x]), (_, k) => Some (map (fun y => (x, y)) k)
  | _, _ => None end.
Definition apply2 f (a b : operand) s : option (operand * state) :=
  l <- pairs a b ;; '(zs, s') <- entrywise f l s ;; Some ((fst a || fst b, zs), s').
Fixpoint each (f : num -> state -> num * state) l s := match l with [] => ([], s)
  | x :: l' => let (y, s1) := f x s in let (ys, s2) := each f l' s1 in (y :: ys, s2) end.
Definition constant_of (a : operand) : option Q := match a with (false, [Const q]) => Some q | _ => None end.
Definition whole (a : operand) : option nat := match constant_of a with
  | Some q => if Pos.eqb (Qden q) 1 && (0 <=? Qnum q)%Z && (Qnum q <=? 100000)%Z then
    Some (Z.to_nat (Qnum q)) else None | None => None end.

(* {1 Functions} *)

(* What is smooth where it is defined. A Euclidean norm is the root of a sum of squares. *)
Definition smooth_at f x s : num * state :=
  let (i, s1) := slot_of x s in let (k, s2) := emit_gate (Fun f i) s1 in (Slot k, s2).
(* 1 over 1 + e^-x; and 2 over 1 + e^(-2 x), less 1. *)
Definition logistic x s : num * state := let (y, s1) := scale (-1) x s in let (z, s2) := smooth_at Exp y s1 in
  let (t, s3) := plus 1 (Const 1) z s2 in smooth_at Inverse t s3.
Definition hyperbolic x s : num * state := let (y, s1) := scale 2 x s in let (z, s2) := logistic y s1 in
  let (t, s3) := scale 2 z s2 in plus 1 (Const (-1)) t s3.
Definition norm (l : list num) s : num * state :=
  let (squares, s1) := each (fun x s => times x x s) l s in let (y, s2) := total 1 squares s1 in smooth_at Root y s2.

(* AD's numbers: of an operator's kink, of an operator's ties. *)
Inductive side := AtLeft | AtRight | At (q : Q).
Record rules := { kinks : list (string * nat * side); ties : list (string * (pick * Q)) }.
(* In braces behind a function's name. *)
Inductive brace := NoBrace | Side (p : side) | Tie (u : pick) (b : Q).

Fixpoint find {A} (n : string) (l : list (string * A)) : option A := match l with [] => None
  | (m, a) :: l' => if String.eqb n m then Some a else find n l' end.
Definition kink_rule (r : rules) op k := option_map snd (List.find (fun x => String.eqb op (fst (fst x)) &&
  Nat.eqb k (snd (fst x))) (kinks r)).
Definition slope_at (r : rules) b op k (lo hi : Q) : option Q :=
  p <- (match b with NoBrace => kink_rule r op k | Side p => Some p | Tie _ _ => None end) ;;
  Some (match p with AtLeft => lo | AtRight => hi | At q => q end).

(* One kink, at 0. *)
Definition at_zero r b op lo hi x s : option (num * state) :=
  p <- slope_at r b op 0 lo hi ;; let (i, s1) := slot_of x s in let (k, s2) := emit (Kink i lo hi p) s1 in Some (Slot k, s2).
(* a below lo, a + c (x - lo) up to hi, constant from there: two kinks. *)
Definition clip r b op (a c lo hi : Q) x s : option (num * state) :=
  if Qle_bool hi lo then None else
  p <- slope_at r b op 0 0 c ;; q <- slope_at r b op 1 c 0 ;;
  let (i, s1) := slot_of x s in
  let (y, s2) := emit (Lin (qmul (-1) lo) [(1%Q, i)]) s1 in let (k, s3) := emit (Kink y 0 c p) s2 in
  let (z, s4) := emit (Lin (qmul (-1) hi) [(1%Q, i)]) s3 in
  let (l, s5) := emit (Kink z 0 (qmul (-1) c) (qsub q c)) s4 in
  let (o, s6) := emit (Lin a [(1%Q, k); (1%Q, l)]) s5 in Some (Slot o, s6).

Fixpoint pointwise (f : num -> state -> option (num * state)) l s : option (list num * state) := match l with [] =>
  Some ([], s)
  | x :: l' => '(y, s1) <- f x s ;; '(ys, s2) <- pointwise f l' s1 ;; Some (y :: ys, s2) end.
Definition on (a : operand) f s : option (operand * state) := '(ys, s') <- pointwise f (snd a) s ;; Some ((fst a, ys), s').
Definition joined (l : list operand) : list num := flat_map snd l.
Definition scalar (xs : num * state) : option (operand * state) := Some ((false, [fst xs]), snd xs).

Definition tie_rule r b op : option (pick * Q) := match b with NoBrace => find op (ties r) | Tie u q => Some (u,
  q) | Side _ => None end.
Definition order r b op rank (l : list num) s : option (operand * state) :=
  '(u, beta) <- tie_rule r b op ;;
  if Nat.eqb rank 0 || Nat.ltb (length l) rank then None else
  let (ks, s1) := slots_of l s in let (o, s2) := emit (Kth rank ks u beta) s1 in Some ((false, [Slot o]), s2).
Fixpoint ranks rank ks u beta s := match rank with O => ([], s)
  | S m => let (o, s1) := emit (Kth rank ks u beta) s in let (os, s2) := ranks m ks u beta s1 in (Slot o :: os, s2) end.
Definition ascending r b (l : list num) s : option (operand * state) :=
  '(u, beta) <- tie_rule r b "Sort" ;;
  let (ks, s1) := slots_of l s in let (os, s2) := ranks (length ks) ks u beta s1 in Some ((true, os), s2).

Local Open Scope string_scope.
(* What has no kinks has no braces. *)
Definition bare b := match b with NoBrace => true | _ => false end.
Definition smooth_names := ["sum"; "mean"; "dot"; "norm2"; "normpool"].
(* Functions of one number, with parameters that are constants. *)
Definition of_one r (f : string) b (parameters : list Q) : option (num -> state -> option (num * state)) :=
  let is := String.eqb f in match parameters with
  | [] => if is "relu" then Some (at_zero r b "Relu" 0 1)
    else if is "leaky_relu" then Some (at_zero r b "LeakyRelu" (1 # 100) 1)
    else if is "abs" then Some (at_zero r b "Abs" (-1) 1)
    else if is "exp" && bare b then Some (fun x s => Some (smooth_at Exp x s))
    else if is "sqrt" && bare b then Some (fun x s => Some (smooth_at Root x s))
    else if is "log" && bare b then Some (fun x s => Some (smooth_at Log x s))
    else if is "elu" && bare b then Some (fun x s => Some (smooth_at Elu x s))
    else if is "sigmoid" && bare b then Some (fun x s => Some (logistic x s))
    else if is "tanh" && bare b then Some (fun x s => Some (hyperbolic x s))
    else if is "relu6" then Some (clip r b "Clip" 0 1 0 6)
    else if is "hardtanh" then Some (clip r b "Clip" (-1) 1 (-1) 1)
    else if is "hardsigmoid" then Some (clip r b "HardSigmoid" 0 (1 # 6) (-3) 3) else None
  | [a] => if is "leaky_relu" then Some (at_zero r b "LeakyRelu" a 1) else None
  | [lo; hi] => if is "hardtanh" then Some (clip r b "Clip" lo 1 lo hi)
    else if is "clamp" then Some (clip r b "Clamp" lo 1 lo hi) else None
  | _ => None end.
Fixpoint constants (l : list operand) : option (list Q) := match l with [] => Some []
  | a :: l' => q <- constant_of a ;; qs <- constants l' ;; Some (q :: qs) end.
(* Functions of many numbers. *)
Definition of_many r (f : string) b (args : list operand) s : option (operand * state) :=
  let all := joined args in let n := length all in let is := String.eqb f in
  if existsb is smooth_names && negb (bare b) then None
  else if is "sum" then scalar (total 1 all s)
  else if is "mean" then scalar (let (y, s') := total 1 all s in scale (1 # Pos.of_nat n) y s')
  else if is "dot" then match args with
    | [(_, l); (_, k)] => if Nat.eqb (length l) (length k)
        then '(zs, s') <- entrywise (fun x y s => Some (times x y s)) (combine l k) s ;; scalar (total 1 zs s') else None
    | _ => None end
  else if is "max" then order r b "Max" 1 all s
  else if is "maxpool" then order r b "MaxPool" 1 all s
  else if is "min" then order r b "Min" n all s
  else if is "median" then order r b "Median" (n - (n - 1) / 2) all s
  else if is "kth" then match args with
    | k :: rest => m <- whole k ;; order r b "Kth" m (joined rest) s | [] => None end
  else if is "sort" then ascending r b all s
  else if is "norm2" || is "normpool" then scalar (norm all s)
  else if is "norm1" then '(ys, s') <- pointwise (at_zero r b "Abs" (-1) 1) all s ;; scalar (total 1 ys s')
  else if is "norminf" then '(ys, s') <- pointwise (at_zero r NoBrace "Abs" (-1) 1) all s ;; order r b "Max" 1 ys s'
  else None.
Definition pointwise_names := ["relu"; "leaky_relu"; "abs"; "relu6"; "hardtanh"; "clamp"; "hardsigmoid"; "exp"; "sqrt";
  "log"; "elu";
  "sigmoid"; "tanh"].
Definition call r (f : string) b (args : list operand) s : option (operand * state) :=
  if existsb (String.eqb f) pointwise_names then match args with
    | x :: rest => qs <- constants rest ;; g <- of_one r f b qs ;; on x g s | [] => None end
  else of_many r f b args s.

(* {1 Expressions} *)

Inductive phrase := Expression | Terms (product : bool) | More (product : bool) (x : operand) | Unary | Primary
  | Entries (x : operand) | Series | Braces | Condition.

Definition is_sign c s := match left s with Sign d :: _ => Ascii.eqb c d | _ => false end.
Definition is_name n s := match left s with Name m :: _ => String.eqb n m | _ => false end.
Definition expect c s := if is_sign c s then Some (pass s) else None.
Definition expect_name n s := if is_name n s then Some (pass s) else None.
Definition one (x : option (operand * state)) : option (list operand * brace * state) := '(v, s) <- x ;; Some ([v],
  NoBrace, s).
Definition single (x : list operand * brace * state) : option (operand * state) := match x with ([v], _, s) => Some (v,
  s) | _ => None end.

Definition branch rel (a b : num) : num -> num -> state -> option (num * state) := fun x y s =>
  let (i, s1) := slot_of a s in let (j, s2) := slot_of b s1 in let (t, s3) := emit (Test rel i j) s2 in
  let (k, s4) := slot_of x s3 in let (l, s5) := slot_of y s4 in let (o, s6) := emit (Sel t k l) s5 in Some (Slot o, s6).
Definition entry_of (x : operand) (i : nat) : option operand := match x with
  | (true, l) => match nth_error l i with Some e => Some (false, [e]) | None => None end | _ => None end.
Definition part_of (x : operand) (i j : nat) : option operand := match x with
  | (true, l) => if Nat.ltb i j && Nat.leb j (length l) then Some (true, firstn (j - i) (skipn i l)) else None | _ =>
    None end.
Definition tie_word (n : string) : option (pick * Q) := let is := String.eqb n in
  if is "first" then Some (First, 0%Q) else if is "last" then Some (Last, 0%Q)
  else if is "stable" then Some (Stable, 0%Q) else if is "mean" then Some (First, 1%Q) else None.

Section Read.
Variable r : rules.
Variable names : list (string * operand).

(* Expressions that a phrase is made of; of Braces what they say. *)
Fixpoint read fuel (p : phrase) (s : state) : option (list operand * brace * state) := match fuel with O => None
  | S fuel' =>
  let expression s := x <- read fuel' Expression s ;; single x in
  match p with
  | Expression => if is_name "if" s then
      '(ab, _, s1) <- read fuel' Condition (pass s) ;;
      match ab, left s1 with
      | [(false, [a]); (false, [b])], Relation rel :: Name n :: _ => if String.eqb n "then" then
          '(x, s2) <- expression (pass (pass s1)) ;; s3 <- expect_name "else" s2 ;; '(y, s4) <- expression s3 ;;
          one (apply2 (branch rel a b) x y s4) else None
      | _, _ => None end
    else read fuel' (Terms false) s
  | Condition => '(x, s1) <- expression s ;; match left s1 with
      | Relation rel :: _ => '(y, s2) <- expression (pass s1) ;;
          Some ([x; y], NoBrace, {| left := Relation rel :: left s2; written := written s2; next := next s2 |})
      | _ => None end
  | Terms product => x <- read fuel' (if product then Unary else Terms true) s ;; '(x, s1) <- single x ;;
    read fuel' (More product x) s1
  | More product x => match left s with
      | Sign c :: _ => if (if product then Ascii.eqb c "*" || Ascii.eqb c "/" else Ascii.eqb c "+" || Ascii.eqb c "-") then
          y <- read fuel' (if product then Unary else Terms true) (pass s) ;; '(y, s1) <- single y ;;
          '(z, s2) <- apply2 (arithmetic c) x y s1 ;; read fuel' (More product z) s2
        else Some ([x], NoBrace, s)
      | _ => Some ([x], NoBrace, s) end
  | Unary => if is_sign "-" s then x <- read fuel' Unary (pass s) ;; '((v, l), s1) <- single x ;;
        let (ys, s2) := each (scale (-1)) l s1 in Some ([(v, ys)], NoBrace, s2)
      else read fuel' Primary s
  | Primary => match left s with
      | Number q :: _ => read fuel' (Entries (false, [Const q])) (pass s)
      | Sign c :: _ =>
          if Ascii.eqb c "(" then '(x, s1) <- expression (pass s) ;; s2 <- expect ")" s1 ;; read fuel' (Entries x) s2
          else if negb (Ascii.eqb c "[") then None else
          '(l, _, s1) <- read fuel' Series (pass s) ;; s2 <- expect "]" s1 ;; read fuel' (Entries (true,
        joined l)) s2
      | Name n :: _ => match find n names with
        | Some x => read fuel' (Entries x) (pass s)
        | None => '(_, b, s1) <- read fuel' Braces (pass s) ;; s2 <- expect "(" s1 ;; '(l, _, s3) <- read fuel' Series s2 ;;
            s4 <- expect ")" s3 ;; '(y, s5) <- call r n b l s4 ;; read fuel' (Entries y) s5 end
      | _ => None end
  | Entries x => if is_sign "[" s then let s0 := pass s in
      '(i, s1) <- (if is_sign ":" s0 then Some (0%nat, s0) else '(v, s1) <- expression s0 ;; i <- whole v ;; Some (i, s1)) ;;
      if is_sign ":" s1 then
        '(j, s2) <- (if is_sign "]" (pass s1) then Some (length (snd x), pass s1)
                     else '(v, s2) <- expression (pass s1) ;; j <- whole v ;; Some (j, s2)) ;;
        s3 <- expect "]" s2 ;; y <- part_of x i j ;; read fuel' (Entries y) s3
      else s2 <- expect "]" s1 ;; y <- entry_of x i ;; read fuel' (Entries y) s2
      else Some ([x], NoBrace, s)
  | Series => '(x, s1) <- expression s ;; if is_sign "," s1
      then '(l, _, s2) <- read fuel' Series (pass s1) ;; Some (x :: l, NoBrace, s2) else Some ([x], NoBrace, s1)
  | Braces => if negb (is_sign "{" s) then Some ([], NoBrace, s) else let s0 := pass s in
      '(b, s1) <- (
        if is_name "left" s0 then Some (Side AtLeft, pass s0) else if is_name "right" s0 then Some (Side AtRight, pass s0)
        else if is_name "hybrid" s0 then '(v, s1) <- expression (pass s0) ;; q <- constant_of v ;; Some (Tie First q, s1)
        else match (match left s0 with Name n :: _ => tie_word n | _ => None end) with
          | Some (u, q) => Some (Tie u q, pass s0)
          | None => '(v, s1) <- expression s0 ;; q <- constant_of v ;; Some (Side (At q), s1) end) ;;
      s2 <- expect "}" s1 ;; Some ([], b, s2)
  end end.
End Read.

(* {1 Statements} *)

(* The point: of each input its entries, and whether F is a function of it. Else it is a constant. *)
Definition point := list (string * (bool * list Q)).
Definition entries (p : point) : list Q := flat_map (fun x : string * (bool * list Q) => if fst (snd x) then
  snd (snd x) else []) p.

(* n entries vary, at w; the instructions, and the outputs' slots. *)
Record source := { size : nat; place : list Q; body : program; results : list nat }.

Record reader := { now : state; bound : list (string * operand); inputs_left : point; first_free : nat;
  found : option (list num) }.
Definition with_state s x := {| now := s; bound := bound x; inputs_left := inputs_left x; first_free := first_free x;
  found := found x |}.
(* Words of the language, and functions' names, which no input and no `let` may have. *)
Definition reserved := ["input"; "let"; "output"; "piece"; "if"; "then"; "else"; "and";
  "exp"; "log"; "sqrt"; "sin"; "cos"; "tanh"; "sigmoid"; "erf"; "relu"; "leaky_relu"; "relu6"; "hardtanh"; "clamp";
    "hardsigmoid";
  "hardswish"; "abs"; "elu"; "max"; "maxpool"; "min"; "kth"; "median"; "sort"; "norminf"; "norm1"; "sum"; "mean"; "norm2";
  "normpool"; "dot"].
Definition free x n := negb (existsb (String.eqb n) reserved) && match find n (bound x) with Some _ => false | None => true end.

(* An input is the next of the point; it has as many entries. *)
Definition take_input x name (vector : bool) (n : nat) s : option reader := match inputs_left x with
  | (m, (varies, qs)) :: rest => if String.eqb m name && Nat.eqb n (length qs) && negb (Nat.eqb n 0) && free x name then
      let entries := if varies then map Slot (seq (first_free x) n) else map Const qs in
      Some {| now := s; bound := (name, (vector, entries)) :: bound x; inputs_left := rest;
              first_free := (if varies then first_free x + n else first_free x)%nat; found := found x |} else None
  | [] => None end.

Section Statements.
Variable r : rules.
Variable fuel : nat.
Definition evaluate x : option (operand * state) := v <- read r (bound x) fuel Expression (now x) ;; single v.

Fixpoint inputs_read m x : option reader := match m with O => None | S m' => let s := now x in match left s with
  | Name n :: Sign c :: Number q :: Sign d :: rest => if negb (Ascii.eqb c "[" && Ascii.eqb d "]") then None else
      k <- whole (false, [Const q]) ;; y <- take_input x n true k {| left := rest; written := written s; next := next s |} ;;
      if is_sign "," (now y) then inputs_read m' (with_state (pass (now y)) y) else Some y
  | Name n :: _ => y <- take_input x n false 1 (pass s) ;;
      if is_sign "," (now y) then inputs_read m' (with_state (pass (now y)) y) else Some y
  | _ => None end end.
(* Of a piece: they say nothing about F. *)
Fixpoint conditions m x s : option state := match m with O => None | S m' =>
  '(ab, _, s1) <- read r (bound x) fuel Condition s ;;
  match ab with
  | [(false, _); (false, _)] => if is_name "and" (pass s1) then conditions m' x (pass (pass s1)) else Some (pass s1)
  | _ => None end end.
Definition let_read x s : option reader := match left s with
  | Name n :: Sign c :: _ => if negb (Ascii.eqb c "=" && free x n) then None else
      '(v, s1) <- evaluate (with_state (pass (pass s)) x) ;;
      Some {| now := s1; bound := (n, v) :: bound x; inputs_left := inputs_left x; first_free := first_free x;
              found := found x |}
  | _ => None end.
Definition outputs_read x s : option reader := '(l, _, s1) <- read r (bound x) fuel Series s ;; match found x with
  | Some _ => None
  | None => Some {| now := s1; bound := bound x; inputs_left := inputs_left x; first_free := first_free x;
                    found := Some (joined l) |} end.
Definition piece_read x s : option reader := '(_, _, s1) <- read r (bound x) fuel Expression s ;;
  s2 <- (if is_name "if" s1 then conditions fuel x (pass s1) else Some s1) ;; Some (with_state s2 x).
Definition statement x : option reader := let s := now x in
  if is_name "input" s then inputs_read fuel (with_state (pass s) x) else if is_name "let" s then let_read x (pass s)
  else if is_name "output" s then outputs_read x (pass s) else if is_name "piece" s then piece_read x (pass s) else None.
Fixpoint statements m x : option reader := match m with O => None | S m' => match left (now x) with
  | [] => Some x
  | Stop :: _ => statements m' (with_state (pass (now x)) x)
  | _ => y <- statement x ;; match left (now y) with [] | Stop :: _ => statements m' y | _ => None end end end.
End Statements.

(* A program with functions: its gates. *)
Record written_source := { inputs_of : nat; point_of : list Q; gates : list gate; ends_of : list nat }.
Definition parse_gates (r : rules) (p : point) (text : list ascii) : option written_source :=
  let fuel := (10 * length text + 100)%nat in let n := length (entries p) in
  ws <- words fuel 0 text ;;
  x <- statements r fuel fuel {| now := {| left := ws; written := []; next := n |}; bound := []; inputs_left := p;
    first_free := 0; found := None |} ;;
  match found x, inputs_left x with
  | Some l, [] => let (outs, s) := slots_of l (now x) in
      Some {| inputs_of := n; point_of := entries p; gates := rev (written s); ends_of := outs |}
  | _, _ => None end.
(* One of instructions alone. *)
Definition parse (r : rules) (p : point) (text : list ascii) : option source := match parse_gates r p text with None => None
  | Some s => match plain_program (gates s) with None => None
    | Some P => Some {| size := inputs_of s; place := point_of s; body := P; results := ends_of s |} end end.
