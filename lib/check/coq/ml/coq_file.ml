(* A file for Coq in which what was verified of a network is a theorem: for other developments (docs/verified.md). Untrusted:
   Coq reads it, and asks the kernel again. *)
open Verified_kernel

let q x = match String.split_on_char '/' (Q.to_string x) with
  | [n; d] -> Printf.sprintf "(%s # %s)" n d | _ -> Printf.sprintf "(%s # 1)" (Q.to_string x)
let list f l = "[" ^ String.concat "; " (List.map f l) ^ "]"
let nat k = string_of_int k ^ "%nat"
let string s = "\"" ^ String.concat "\"\"" (String.split_on_char '"' s) ^ "\"%string"
let side = function AtLeft -> "AtLeft" | AtRight -> "AtRight" | At x -> "At " ^ q x
let pick = function First -> "First" | Last -> "Last" | Stable -> "Stable"
let kink ((op, k), p) = Printf.sprintf "(%s, %s, %s)" (string op) (nat k) (side p)
let tie (op, (u, b)) = Printf.sprintf "(%s, (%s, %s))" (string op) (pick u) (q b)
let cell (w, steps) = Printf.sprintf "(%s, %s)" (q w) (list (list q) steps)
let evidence = function
  | Toward (d, hints) -> Printf.sprintf "Toward %s %s" (list q d) (list nat hints)
  | Cells l -> "Cells " ^ list cell l
  | OfProgram _ -> Proof_file.outside "a file for Coq about a network as a program"

(* Two theorems: what the proof says; and where no kink is touched, that the loss is differentiable. *)
let theorem name says by = Printf.printf "
Theorem %s e log root : elementary e log root -> exists q, read_question by_ad varying loss_name text = Some q /\\
  %s.
Proof. intro laws. apply (%s); vm_compute; reflexivity. Qed.
" name says by

let print (s : Network.statement) verdict shown =
  let set, by = match verdict with
    | InBouligand -> ("Bouligand", "network_in_bouligand by_ad varying loss_name text e log root laws shown")
    | InClarke -> ("Clarke", "network_in_clarke by_ad varying loss_name text e log root laws InClarke shown ltac:(discriminate)")
    | NotInClarke -> Proof_file.outside "a file for Coq that AD's output is in no set" in
  let varies = match s.wrt with None -> "None" | Some l -> "Some " ^ list string l in
  Printf.printf "(* The network of the tape %s. *)\n" s.hash;
  print_string "From Coq Require Import QArith Reals String List.\n";
  print_string "From Clarke Require Import Space Program Text Verdict Gate NetworkVerdict.\n";
  print_string "Import ListNotations.\nLocal Open Scope Q_scope.\n\n";
  Printf.printf "Definition text := list_ascii_of_string %s.\n" (string s.tape);
  Printf.printf "Definition by_ad := {| kinks := %s; ties := %s |}.\n" (list kink s.rules.kinks) (list tie s.rules.ties);
  Printf.printf "Definition varying : wrt := %s.\nDefinition loss_name := %s.\n" varies (string s.loss);
  Printf.printf "Definition shown := %s.\n" (evidence shown);
  theorem "verified"
    (set ^ " (length (weights q)) 1 (loss_map e log root q) (real (weights q)) (ad_output e log root q (fused shown))") by;
  if Network.stands s then theorem "differentiable"
    "diff_at (length (weights q)) (fun y => loss_map e log root q y 0%nat) (real (weights q)) (ad_output e log root q true 0%nat)"
    "no_tie by_ad varying loss_name text e log root laws"
