------------------------------- MODULE Records --------------------------------
(* The log as the group's records make it.                                    *)
EXTENDS Session

\* The log has what is appended at once, of what fails it has nothing; of a member's protocols
\* it has the one that was chosen. GMM:1256
RecordGroup(s, given) ==
  LET g == s.group
      named(p) == p.name = g.protocolName
  IN IF ~Logged THEN s
     ELSE [s EXCEPT !.log.group =
             [generation |-> g.generation,
              protocolType |-> g.protocolType, protocolName |-> g.protocolName,
              leader |-> g.leader,
              members |-> [n \in DOMAIN g.members |->
                [protocols |-> SelectSeq(g.members[n].protocols, named),
                 instance |-> g.members[n].instance, assignment |-> given[n]]]]]

\* For these two nobody waits, and nobody is told if they fail. GC:1213, 0.10.0 GMM:136
RecordEmpty(s) ==
  IF s.failing = Fine THEN RecordGroup(s, NoEntries) ELSE [s EXCEPT !.failing = Fine]
RemoveGroup(s) ==
  IF s.failing = Fine THEN [s EXCEPT !.log.group = NoRecord] ELSE [s EXCEPT !.failing = Fine]

=============================================================================
