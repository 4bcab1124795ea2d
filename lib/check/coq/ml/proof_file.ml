(* Reads a proof (docs/proof-format.md, sections 1 and 3): what it says of a program, and its evidence. Untrusted, but for
   the statement: the program's bytes, the point, the rules, the verdict. *)
open Verified_kernel

exception Outside of string (* of what is verified here *)
exception Bad of string     (* no proof, or one of another file *)

let bad format = Printf.ksprintf (fun s -> raise (Bad s)) format
let outside format = Printf.ksprintf (fun s -> raise (Outside s)) format

let read_file name =
  try
    let f = open_in_bin name in
    Fun.protect ~finally:(fun () -> close_in f) (fun () -> really_input_string f (in_channel_length f))
  with Sys_error e -> bad "%s" e

(* The lines that are left, as words. *)
type reader = { mutable lines : string list list; mutable at : int }

(* The last line has the hash of all before it. *)
let reader bytes =
  let n = String.length bytes in
  if n < 70 || bytes.[n - 1] <> '\n' then bad "no line 'end HASH'";
  let last = match String.rindex_from_opt bytes (n - 2) '\n' with Some i -> i + 1 | None -> 0 in
  let body = String.sub bytes 0 last in
  if String.sub bytes last (n - last) <> "end " ^ Sha256.hex body ^ "\n" then
    bad "the last line is not 'end' and the hash of all before it";
  { lines = List.map (String.split_on_char ' ') (String.split_on_char '\n' (String.sub body 0 (max 0 (last - 1)))); at = 1 }

let peek r = match r.lines with l :: _ -> l | [] -> []
let take r = match r.lines with l :: rest -> r.lines <- rest; r.at <- r.at + 1; l | [] -> bad "line %d: the proof ends" r.at
let wrong r = bad "line %d: '%s' is not expected here" r.at (String.concat " " (peek r))

(* In lowest terms, written in the one way. *)
let rational r s =
  let q = try Q.of_string s with _ -> bad "line %d: '%s' is no rational" r.at s in
  if Q.to_string q <> s then bad "line %d: '%s' is not in lowest terms" r.at s;
  q
let count r s = match int_of_string_opt s with
  | Some n when n >= 0 && string_of_int n = s -> n | _ -> bad "line %d: '%s' is no number" r.at s

let name r s =
  let b = Buffer.create 16 in
  let rec go i = if i < String.length s then
    if s.[i] <> '%' then (Buffer.add_char b s.[i]; go (i + 1))
    else match int_of_string_opt ("0x" ^ String.sub s (i + 1) (min 2 (String.length s - i - 1))) with
      | Some c -> Buffer.add_char b (Char.chr c); go (i + 3) | None -> bad "line %d: '%s' is no name" r.at s in
  go 0; Buffer.contents b

type statement = { text : string; point : point; rules : rules; touched : int }

let read_verdict r = match take r with
  | ["verdict"; "in-bouligand"] -> InBouligand | ["verdict"; "in-clarke"] -> InClarke
  | ["verdict"; "not-in-clarke"] -> NotInClarke
  | "verdict" :: v -> outside "the verdict %s" (String.concat " " v)
  | w :: _ -> outside "a proof about a %s" w | [] -> bad "no verdict"

let read_text r folder = match take r with
  | ["program"; f; hash] ->
    let f = name r f in
    if Filename.basename f <> f then bad "line %d: '%s' is no file's name" r.at f;
    let text = read_file (Filename.concat folder f) in
    if Sha256.hex text <> hash then bad "%s is another file than the proof's" f;
    text
  | w :: _ -> outside "a proof about a %s" w | [] -> bad "no program"

let rec read_values r = match peek r with
  | "at" :: v :: l -> let l = List.map (rational r) l in ignore (take r); let rest = read_values r in (name r v, l) :: rest
  | _ -> []

let read_point r =
  let values = read_values r in
  let varies = match take r with
    | ["wrt"; "*"] -> fun _ -> true
    | "wrt" :: l -> let l = List.map (name r) l in
      if List.filter (fun v -> List.mem v l) (List.map fst values) <> l then
        bad "line %d: inputs that are not there, or in another order" r.at;
      fun v -> List.mem v l
    | _ -> wrong r in
  List.map (fun (v, l) -> (v, (varies v, l))) values

(* The operators that a text uses without braces somewhere, sorted, with their kinks; then those with ties. *)
let operators text =
  let code = String.concat "\n" (List.map (fun l -> List.hd (String.split_on_char '#' l)) (String.split_on_char '\n' text)) in
  let n = String.length code and kinks = ref [] and ties = ref [] in
  let kink op count = for k = 0 to count - 1 do kinks := (op, k) :: !kinks done and tie op = ties := op :: !ties in
  let use f brace = match f with
    | "norminf" -> kink "Abs" 1; if not brace then tie "Max"
    | _ when brace -> ()
    | "relu" -> kink "Relu" 1 | "leaky_relu" -> kink "LeakyRelu" 1 | "abs" | "norm1" -> kink "Abs" 1
    | "relu6" | "hardtanh" -> kink "Clip" 2 | "clamp" -> kink "Clamp" 2 | "hardsigmoid" -> kink "HardSigmoid" 2
    | "hardswish" -> kink "HardSwish" 2 | "elu" -> kink "Elu" 1
    | "max" -> tie "Max" | "maxpool" -> tie "MaxPool" | "min" -> tie "Min" | "kth" -> tie "Kth" | "median" -> tie "Median"
    | "sort" -> tie "Sort" | _ -> () in
  let name c = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c = '_' in
  let rec past p i = if i < n && p code.[i] then past p (i + 1) else i in
  let rec go i = if i < n then
    let j = past name i in
    if j = i then go (i + 1)
    else begin
      let k = past (fun c -> c = ' ' || c = '\t' || c = '\r' || c = '\n') j in
      use (String.sub code i (j - i)) (k < n && code.[k] = '{'); go j
    end in
  go 0; (List.sort_uniq compare !kinks, List.sort_uniq compare !ties)

(* A line for each of these, in their order. What is unknown is left out: nothing may need it. *)
let read_kink r (op, k) = match take r with
  | ["proxy"; o; i; s] when o = op && count r i = k -> (match s with
    | "unknown" -> [] | "left" -> [((op, k), AtLeft)] | "right" -> [((op, k), AtRight)] | _ -> [((op, k), At (rational r s))])
  | _ -> bad "line %d: kink %d of %s is expected" (r.at - 1) k op

let read_tie r op = match take r with
  | "tie" :: o :: l when o = op -> (match l with
    | ["first"] -> [(op, (First, Q.zero))] | ["last"] -> [(op, (Last, Q.zero))] | ["stable"] -> [(op, (Stable, Q.zero))]
    | ["mean"] -> [(op, (First, Q.one))] | ["hybrid"; q] -> [(op, (First, rational r q))] | ["unknown"] -> []
    | _ -> bad "line %d: a rule for ties is expected" (r.at - 1))
  | _ -> bad "line %d: the ties of %s are expected" (r.at - 1) op

(* The first two lines. *)
let read_verdict_line r =
  if take r <> ["clarke-proof"; "1"] then bad "no proof of version 1";
  read_verdict r

let read_statement r folder =
  if take r <> ["semantics"; "real"] then bad "line %d: 'semantics real' is expected" (r.at - 1);
  let text = read_text r folder in
  let point = read_point r in
  (match take r with ["profile"; _] -> () | _ -> bad "line %d: the profile is expected" (r.at - 1));
  let kinks, ties = operators text in
  let kinks = List.concat_map (read_kink r) kinks in
  let ties = List.concat_map (read_tie r) ties in
  let touched = match take r with ["touched"; n] -> count r n | _ -> bad "line %d: 'touched N' is expected" (r.at - 1) in
  { text; point; rules = { kinks; ties }; touched }

(* {1 Evidence} *)

let read_arc r n = match take r with
  | ["arc"; k] ->
    let k = count r k in
    if k > 8 then bad "line %d: an arc of more than 8 steps" (r.at - 1);
    List.init k (fun _ -> match take r with
      | "step" :: l when List.length l = n -> List.map (rational r) l
      | _ -> bad "line %d: a step of %d numbers is expected" (r.at - 1) n)
  | _ -> bad "line %d: an arc is expected" (r.at - 1)

let rec read_tree r = match take r with
  | ["leaf"] -> Leaf
  | ["dead"; k] ->
    let l = List.init (count r k) (fun _ -> match take r with
        | ["u"; i; q] -> (count r i, rational r q) | _ -> bad "line %d: 'u K VALUE' is expected" (r.at - 1)) in
    if List.sort_uniq compare (List.map fst l) <> List.map fst l then bad "line %d: decisions are in increasing order" (r.at - 1);
    Dead l
  | ["branch"; k] -> let k = count r k in
    let rec go i = if i = 0 then [] else let t = read_tree r in t :: go (i - 1) in Branch (go k)
  | ["open"] -> outside "a fork that is left open"
  | _ -> bad "line %d: a tree is expected" (r.at - 1)

(* Rows of n numbers, n above 0. *)
let rec rows n l = if l = [] then [] else List.filteri (fun i _ -> i < n) l :: rows n (List.filteri (fun i _ -> i >= n) l)

let read_separator r n outputs = match take r with
  | "v" :: l when List.length l = n * outputs -> let v = rows n (List.map (rational r) l) in
    (match take r with ["tree"] -> Separator (v, read_tree r) | ["cones"] -> outside "a tree of cones"
     | _ -> bad "line %d: a tree is expected" (r.at - 1))
  | _ -> bad "line %d: 'v' and %d numbers are expected" (r.at - 1) (n * outputs)

let read_evidence r n outputs =
  let evidence = match take r with
    | ["evidence"; "ad"] -> Ad (read_arc r n)
    | ["evidence"; "hull"; k] -> Hull (List.init (count r k) (fun _ -> match take r with
        | ["cell"; q] -> let q = rational r q in (q, read_arc r n) | _ ->
          bad "line %d: 'cell WEIGHT' is expected" (r.at - 1)))
    | ["evidence"; "separator"] -> read_separator r n outputs
    | ["evidence"; "unanimous"] -> if take r <> ["tree"] then bad "line %d: a tree is expected" (r.at - 1);
      Unanimous (read_tree r)
    | l -> bad "line %d: '%s' is no evidence about a program" (r.at - 1) (String.concat " " l) in
  if r.lines <> [] then wrong r;
  evidence
