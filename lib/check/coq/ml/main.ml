(* clarke-check-verified PROOF [--data FOLDER], clarke-check-verified PROOF --tape TAPE: a proof about a program, or about
   the network of that tape, checked by the kernel that is proved (docs/verified.md). With --coq it prints a file for Coq in
   which the network's verdict is a theorem.
   VERIFIED and status 0; REJECTED and 1; no proof, or one that cannot be read, 2; OUTSIDE of what is verified here, 3. *)
open Verified_kernel

let usage = "Usage: clarke-check-verified PROOF [--data FOLDER]\n       clarke-check-verified PROOF --tape TAPE [--coq]\n"

let characters s = List.init (String.length s) (String.get s)

(* Why the kernel does not read a text: the first word that is not its. *)
let why text =
  let others = ["sin"; "cos"; "erf"; "hardswish"] in
  let letter c = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c = '_' in
  let lines = List.map (fun l -> List.hd (String.split_on_char '#' l)) (String.split_on_char '\n' text) in
  let words = String.split_on_char ' ' (String.map (fun c -> if letter c then c else ' ') (String.concat " " lines)) in
  match List.find_opt (fun w -> List.mem w others) words with
  | Some w -> "the function " ^ w | None -> "the program's text, or a rule that is unknown"

let verdict_name = function InBouligand -> "in-bouligand" | InClarke -> "in-clarke" | NotInClarke -> "not-in-clarke"

(* A program with functions: AD's output is in one cell, which a direction leads to. Steps of an arc become one direction. *)
let with_functions (s : Proof_file.statement) text (p : written_source) verdict evidence =
  let branch = function Plain (Test _ | Sel _) -> true | _ -> false in
  if List.exists branch p.gates then Proof_file.outside "a branch in a program with functions";
  let steps = match verdict, evidence with
    | InBouligand, Ad steps -> List.map Array.of_list steps
    | InBouligand, Hull [(weight, steps)] when Q.equal weight Q.one -> List.map Array.of_list steps
    | _ -> Proof_file.outside "a program with functions, by more than one direction" in
  let d = Array.to_list (Network.fold (Q.div_2exp Q.one 30) p.inputs_of steps) in
  check_functions s.rules s.point text s.touched d (Network.hints p.inputs_of p.gates)

let checked r verdict folder =
  let s = Proof_file.read_statement r folder in
  let text = characters s.text in
  match parse s.rules s.point text, parse_gates s.rules s.point text with
  | None, None -> Proof_file.outside "%s" (why s.text)
  | None, Some p ->
    (false, with_functions s text p verdict (Proof_file.read_evidence r p.inputs_of (List.length p.ends_of)))
  | Some source, _ ->
    let evidence = Proof_file.read_evidence r source.size (List.length source.results) in
    let hints = Demand.hints source in
    (without_comparisons hints.ordered, check s.rules s.point text s.touched verdict evidence hints)

(* What is said of a proof about a program, if it is verified; about a network. *)
let of_program r verdict folder = match checked r verdict folder with
  | _, false -> None
  | true, true -> Some "F is Lipschitz near w."
  | false, true -> Some "That F is Lipschitz near w is not proved here."
let of_network r verdict tape =
  let s = Network.read_statement r tape in
  Option.map (fun _ -> "Tape: " ^ s.hash) (Network.accepted s verdict)

let run file folder tape =
  match
    let r = Proof_file.reader (Proof_file.read_file file) in
    let verdict = Proof_file.read_verdict_line r in
    (verdict, match tape with
      | Some tape -> of_network r verdict (Proof_file.read_file tape) | None -> of_program r verdict folder)
  with
  | v, Some said -> Printf.printf "VERIFIED\n%s\n%s\n" (verdict_name v) said; 0
  | _, None -> print_string "REJECTED: the kernel does not accept the evidence\n"; 1
  | exception Proof_file.Outside why -> Printf.printf "OUTSIDE: %s\n" why; 3
  | exception Proof_file.Bad why -> Printf.printf "REJECTED: %s\n" why; 2

(* The file for Coq, or why there is none. *)
let export file tape =
  match
    let r = Proof_file.reader (Proof_file.read_file file) in
    let verdict = Proof_file.read_verdict_line r in
    let s = Network.read_statement r (Proof_file.read_file tape) in
    Option.map (Coq_file.print s verdict) (Network.accepted s verdict)
  with
  | Some () -> 0
  | None -> prerr_string "REJECTED: the kernel does not accept the evidence\n"; 1
  | exception Proof_file.Outside why -> Printf.eprintf "OUTSIDE: %s\n" why; 3
  | exception Proof_file.Bad why -> Printf.eprintf "REJECTED: %s\n" why; 2

(* Most of what a network asks for lives to the end, so it is looked for what does not less often. *)
let () = Gc.set { (Gc.get ()) with space_overhead = 1000 }

let () =
  exit (match Array.to_list Sys.argv with
    | [_; "--help"] -> print_string usage; 0
    | [_; file] -> run file (Filename.dirname file) None
    | [_; file; "--data"; folder] -> run file folder None
    | [_; file; "--tape"; tape] -> run file "" (Some tape)
    | [_; file; "--tape"; tape; "--coq"] -> export file tape
    | _ -> prerr_string usage; 2)
