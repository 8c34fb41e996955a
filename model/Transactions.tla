----------------------------- MODULE Transactions -----------------------------
(* Offsets that wait for their marker, and the marker; what deletions leave.  *)
EXTENDS Log

\* GMM:340
StoreTransaction(s, r) ==
  IF r.tooLong THEN {Answer(s, ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE LET offset == Committed(6, r)
       IN AppendToLog([s EXCEPT !.group.transaction =
                                  [is |-> "held", newer |-> TRUE, offset |-> offset],
                                !.group.awaited = TRUE],
                      [NoEntry EXCEPT !.kind = "transaction", !.offset = offset])

\* The offset can be read if it is committed, and no newer one has been. GM:660
Ended(s, committed) ==
  LET readable == committed /\ s.group.transaction.newer
  IN [s EXCEPT !.group.offset = IF readable THEN s.group.transaction.offset ELSE @,
               !.group.transaction = NoTransaction, !.group.awaited = FALSE]

\* The marker is in the log, whoever coordinates the group.
Marked(s, committed) ==
  [s EXCEPT !.log.offset =
              IF committed /\ s.log.transaction.newer THEN s.log.transaction.offset ELSE @,
            !.log.transaction = NoTransaction]

\* The records that remove the offset and the group, in one append for which nobody waits. GMM:843
Removed(s, offset, group) ==
  LET recorded == group /\ (RemovalsAreWritten \/ s.group.generation > 0)
  IN IF ~offset /\ ~recorded THEN s
     ELSE IF s.failing # Fine \/ ~Logged THEN [s EXCEPT !.failing = Fine]
     ELSE [s EXCEPT
             !.log.group = IF recorded THEN NoRecord ELSE @,
             !.log.offset = IF offset THEN NoOffset ELSE @,
             !.log.transaction.newer = @ \/ (offset /\ s.log.transaction.is = "pending")]

=============================================================================
