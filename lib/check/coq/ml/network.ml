(* A proof about a network, and its whole tape (docs/tape.md). Untrusted, but for the statement: rules, what varies, the
   loss, and that the tape's blocks are those of its hash. *)
open Verified_kernel

type statement = { rules : rules; wrt : string list option; loss : string; tape : string; hash : string; directions : reader }
and reader = Proof_file.reader

let bad = Proof_file.bad
let outside = Proof_file.outside

(* The hash of the lines that are not in a block, if that is what the last one says, and each block has its own. *)
let hash_of_tape text =
  let short = Buffer.create 4096 in
  let rec blocks words lines = match words with
    | "parameter" :: _ :: _name :: words -> blocks words lines
    | ("values" | "factors" | "sources" | "features") :: n :: hash :: words ->
      let rec take n b lines = if n = 0 then lines else match lines with
        | l :: lines when l <> "" && l.[0] = ' ' ->
          Buffer.add_string b (String.sub l 1 (String.length l - 1)); Buffer.add_char b '\n'; take (n - 1) b lines
        | _ -> bad "the tape has a block of too few lines" in
      let b = Buffer.create 4096 in
      let lines = take (try int_of_string n with _ -> bad "the tape has a block without a number") b lines in
      if Sha256.hex (Buffer.contents b) <> hash then bad "a block of the tape has not its hash";
      blocks words lines
    | _ :: words -> blocks words lines
    | [] -> lines in
  let rec go = function
    | [l; ""] when l = "hash " ^ Sha256.hex (Buffer.contents short) -> String.sub l 5 64
    | l :: lines when l <> "" && l.[0] <> ' ' ->
      Buffer.add_string short l; Buffer.add_char short '\n'; go (blocks (String.split_on_char ' ' l) lines)
    | _ -> bad "this is no whole tape, or it has not its hash" in
  go (String.split_on_char '\n' text)

let rec skip (r : reader) keywords = match Proof_file.peek r with
  | w :: _ when List.mem w keywords -> ignore (Proof_file.take r); skip r keywords
  | _ -> ()

(* A line that is there, or may be; of what clarke-check reads to print the tape. *)
let optional (r : reader) keyword = match Proof_file.peek r with
  | w :: _ when w = keyword -> ignore (Proof_file.take r) | _ -> ()
let required (r : reader) keyword = match Proof_file.take r with
  | w :: _ when w = keyword -> () | _ -> bad "line %d: '%s' is expected" (r.at - 1) keyword

let rec read_kinks (r : reader) = match Proof_file.peek r with
  | ["proxy"; op; k; s] ->
    ignore (Proof_file.take r);
    let side = match s with "left" -> AtLeft | "right" -> AtRight | _ -> At (Proof_file.rational r s) in
    ((op, Proof_file.count r k), side) :: read_kinks r
  | _ -> []

let rec read_ties (r : reader) = match Proof_file.peek r with
  | "tie" :: op :: _ -> let l = Proof_file.read_tie r op in l @ read_ties r
  | _ -> []

(* Names are there once each; rules in their order, too. *)
let once (r : reader) l = if List.length (List.sort_uniq compare l) <> List.length l then
    bad "line %d: a name is there twice before" r.at
let in_order (r : reader) l = if List.sort_uniq compare l <> l then
    bad "line %d: rules are expected in their order, each once" r.at

(* From `semantics` on, in the lines' order. A tape that the proof names must be this one. *)
let read_statement (r : reader) tape =
  if Proof_file.take r <> ["semantics"; "real"] then bad "line %d: 'semantics real' is expected" (r.at - 1);
  let hash = hash_of_tape tape in
  required r "model";
  List.iter (optional r) ["output"; "constants"; "params"];
  (match Proof_file.peek r with "surrogate" :: _ -> Proof_file.outside "a network with surrogates" | _ -> ());
  required r "batch";
  optional r "samples";
  (match Proof_file.peek r with
   | ["tape"; h] -> if h <> hash then bad "line %d: the proof is about another tape" r.at; ignore (Proof_file.take r)
   | _ -> ());
  skip r ["fingerprint"];
  let loss = match Proof_file.take r with ["loss"; l] -> l | _ -> bad "line %d: the loss is expected" (r.at - 1) in
  let wrt = match Proof_file.take r with
    | ["wrt"; "*"] -> None | ["wrt"] -> bad "line %d: no parameter is named" (r.at - 1) | "wrt" :: l -> once r l; Some l | _ -> bad "line %d: 'wrt' is expected" (r.at - 1) in
  required r "profile";
  let kinks = read_kinks r in
  let ties = read_ties r in
  in_order r (List.map fst kinks); in_order r (List.map fst ties);
  (match Proof_file.take r with
   | ["touched"; n] -> ignore (Proof_file.count r n) | _ -> bad "line %d: 'touched N' is expected" (r.at - 1));
  { rules = { kinks; ties }; wrt; loss; tape; hash; directions = r }

(* {1 Evidence} *)

(* Where the parameters that vary begin, and their entries. *)
let places (q : question) =
  let table = Hashtbl.create 97 and next = ref 0 in
  List.iter (fun (name, entries) -> if in_wrt q.varies name then begin
      Hashtbl.replace table name (!next, Array.of_list entries); next := !next + List.length entries end) q.asked.parameters;
  (table, !next)

(* One move at least, each with a coefficient that is not 0. *)
let read_direction (r : reader) (table, n) =
  let d = Array.make n Q.zero in
  let rec moves any = match Proof_file.peek r with
    | "move" :: name :: how -> ignore (Proof_file.take r);
      let first, entries = match Hashtbl.find_opt table name with
        | Some x -> x | None -> bad "line %d: '%s' does not vary" (r.at - 1) name in
      let add i q = if i >= Array.length entries then bad "line %d: no such entry" (r.at - 1);
        d.(first + i) <- Q.add d.(first + i) q in
      let coefficient c =
        let c = Proof_file.rational r c in
        if Q.sign c = 0 then bad "line %d: a coefficient 0" (r.at - 1); c in
      (match how with
       | ["copy"; c] -> let c = coefficient c in Array.iteri (fun i v -> add i (Q.mul c v)) entries
       | ["add"; c] -> let c = coefficient c in Array.iteri (fun i _ -> add i c) entries
       | ["at"; i; c] -> add (Proof_file.count r i) (coefficient c)
       | _ -> bad "line %d: copy, add or at is expected" (r.at - 1));
      moves true
    | _ -> if not any then bad "line %d: 'move' is expected" r.at in
  if Proof_file.take r <> ["direction"] then bad "line %d: a direction is expected" (r.at - 1);
  moves false; d

let read_directions (r : reader) table =
  let count = match Proof_file.take r with
    | ["directions"; k] -> Proof_file.count r k | _ -> bad "line %d: directions are expected" (r.at - 1) in
  List.init count (fun _ -> read_direction r table)

(* Cells with their weights, as directions; none of weight 0. *)
let read_hull (r : reader) table count =
  let cell _ = match Proof_file.take r with
    | ["cell"; weight; _] -> let weight = Proof_file.rational r weight in (weight, read_directions r table)
    | _ -> bad "line %d: 'cell WEIGHT SIDES' is expected" (r.at - 1) in
  List.filter (fun (weight, _) -> Q.sign weight <> 0) (List.init count cell)

(* A cell for each choice of sides of the mixed nodes, - with the weight of the node's line. *)
let read_mix (r : reader) table count =
  let lambdas = List.init count (fun _ -> match Proof_file.take r with
      | ["mix"; _; q] -> Proof_file.rational r q | _ -> bad "line %d: 'mix NODE LAMBDA' is expected" (r.at - 1)) in
  let weight signs =
    if String.length signs <> count then bad "line %d: a sign for each mixed node is expected" (r.at - 1);
    List.fold_left Q.mul Q.one (List.mapi (fun i q -> if signs.[i] = '-' then q else Q.sub Q.one q) lambdas) in
  if count > 8 then outside "more than eight mixed nodes";
  List.init (1 lsl count) (fun _ -> match Proof_file.take r with
      | ["cell"; "mix"; signs] -> let q = weight signs in (q, read_directions r table)
      | _ -> bad "line %d: 'cell mix SIGNS' is expected" (r.at - 1))

(* A direction in which AD's output is beyond all cells. Why so is not read: Separating finds a tree itself. *)
let read_separator (r : reader) (table, n) =
  let v = Array.make n Q.zero and last = ref (-1) in
  let rec entries () = match Proof_file.peek r with
    | ["v"; name; i; q] -> ignore (Proof_file.take r);
      let first, values = match Hashtbl.find_opt table name with
        | Some x -> x | None -> bad "line %d: '%s' does not vary" (r.at - 1) name in
      let i = Proof_file.count r i in
      if i >= Array.length values then bad "line %d: no such entry" (r.at - 1);
      let q = Proof_file.rational r q in
      if first + i <= !last || Q.sign q = 0 then bad "line %d: entries that are not 0, in order, are expected" (r.at - 1);
      last := first + i; v.(first + i) <- q; entries ()
    | _ -> () in
  entries ();
  skip r ["parallel"; "opposite"; "tree"; "branch"; "dead"; "u"; "leaf"]; v

type read = One of Q.t array list | Many of (Q.t * Q.t array list) list | Apart of Q.t array
let read_evidence (r : reader) table =
  let e = match Proof_file.take r with
    | ["evidence"; "ad"] ->
      if Proof_file.take r <> ["cell"; "ad"] then bad "line %d: 'cell ad' is expected" (r.at - 1);
      One (read_directions r table)
    | ["evidence"; "hull"; k] -> Many (read_hull r table (Proof_file.count r k))
    | ["evidence"; "mix"; k] -> Many (read_mix r table (Proof_file.count r k))
    | ["evidence"; ("separator" | "bound")] -> Apart (read_separator r table)
    | "evidence" :: e :: _ -> outside "a network's evidence %s" e
    | _ -> bad "line %d: evidence is expected" (r.at - 1) in
  if r.lines <> [] then Proof_file.wrong r;
  e

(* The first direction, then the second much smaller, and so on: a guess, which the kernel checks. *)
let fold small n directions =
  List.fold_right (fun d sum -> Array.map2 (fun a b -> Q.add a (Q.mul small b)) d sum) directions (Array.make n Q.zero)

(* Of each instruction the first that is the same function of arguments that are the same. *)
module Met = Hashtbl.Make (struct
    type t = gate
    let equal = ( = )
    let hash = Hashtbl.hash_param 64 128
  end)
let hints n gates =
  let first = Array.init (n + List.length gates) Fun.id and met = Met.create 4096 in
  List.iteri (fun i g ->
      let g = rename_gate (fun k -> first.(k)) g in
      match Met.find_opt met g with
      | Some k -> first.(n + i) <- k
      | None -> Met.replace met g (n + i)) gates;
  Array.to_list (Array.sub first n (Array.length first - n))

(* Of outputs that become polynomials. *)
let few (q : question) = List.length q.weights <= 64 && List.length q.as_gates <= 2048 && match program_of q with
  | Some (p, _) -> List.length p <= 4096 | None -> false
let functions (q : question) = List.exists (function Fun _ -> true | _ -> false) q.as_gates

(* What a small network and its loss are as a program, with what the kernel may ask about it. *)
let as_program q evidence = match program_with_loss q with
  | None -> None
  | Some s -> let h = Demand.hints s in Some (OfProgram (evidence s h, h))

let question (s : statement) =
  match read_question s.rules s.wrt s.loss (List.init (String.length s.tape) (String.get s.tape)) with
  | Some { weights = []; _ } -> outside "a network of which nothing varies"
  | Some q -> q | None -> outside "a network with steps, a loss or rules that are unknown"

(* Is no kink touched, nor a tie? *)
let stands s = check_network (question s) InBouligand (Toward ([], []))

(* The evidence that the kernel accepts, if it accepts one: each here is a guess from the proof's. *)
let accepted (s : statement) verdict =
  let q = question s in
  let table, n = places q in
  let folded bits directions = Array.to_list (fold (Q.div_2exp Q.one bits) n directions) in
  let toward directions =
    let hints = hints (List.length q.weights) q.as_gates in
    List.map (fun bits -> lazy (Some (Toward (folded bits directions, hints)))) (if List.length directions > 1 then [30;
      200] else [30]) in
  let guesses = match read_evidence s.directions (table, n) with
    | One directions -> toward directions
    (* all of one cell *)
    | Many [(weight, directions)] when verdict = InBouligand && Q.equal weight Q.one && not (few q) -> toward directions
    | _ when functions q -> outside "a combination, or a separator, in a network with functions"
    | _ when not (few q) -> outside "a combination, or a separator, in a network that is not small"
    | Many cells ->
      let cells = List.map (fun (weight, directions) -> (weight, [folded 30 directions])) cells in
      [lazy (Some (Cells cells)); lazy (as_program q (fun _ _ -> Hull cells))]
    | Apart v -> match as_program q (fun s h -> Separator ([Array.to_list v], Separating.tree s h)) with
      | None -> outside "a separator behind the loss %s" s.loss | guess -> [lazy guess] in
  List.find_map (fun guess -> match Lazy.force guess with
      | Some e when check_network q verdict e -> Some e | _ -> None) guesses
