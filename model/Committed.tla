------------------------------ MODULE Committed -------------------------------
(* What status read while something status written that status not committed.              *)
EXTENDS State

\* While appends are held, what was there before is what is read. Of a group of which nothing was
\* written before nothing shows. 4.1 CR:1613
NoteWritten(s) ==
  LET g == s.before
      hidden == IF g = NoGroup THEN TRUE ELSE g.notPersisted
  IN IF ~ResponsesAreDeferred \/ ~s.holding \/ s.committed # AllCommitted THEN s
     ELSE [s EXCEPT !.committed =
             IF hidden THEN [AllCommitted EXCEPT !.visible = "nothing"]
             ELSE [AllCommitted EXCEPT !.visible = "newest", !.offset.at = g.offset.at]]

\* The group is removed; but as long as that is not committed, it shows as it was at last.
NoteRemoved(s) ==
  IF s.committed.visible # "newest" THEN s
  ELSE [s EXCEPT !.committed.visible = "removed", !.committed.protocolType = s.group.protocolType]

\* The group that is read.
CommittedGroup(s) ==
  CASE s.committed.visible = "everything" -> s.group
    [] s.committed.visible = "nothing"    -> NoGroup
    [] s.committed.visible = "newest"     -> [s.group EXCEPT !.offset = s.committed.offset]
    [] s.committed.visible = "removed"    ->
         [NewGroup EXCEPT !.protocolType = s.committed.protocolType, !.offset = s.committed.offset]

\* The steps of a request that only reads, made of what is read.
ReadCommitted(s, Reads(_)) ==
  IF s.committed = AllCommitted THEN Reads(s)
  ELSE {[t EXCEPT !.group = s.group]
        : t \in Reads([Apply(s, "log/read-committed") EXCEPT !.group = CommittedGroup(s)])}

=============================================================================
