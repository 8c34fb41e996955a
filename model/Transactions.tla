----------------------------- MODULE Transactions -----------------------------
(* Offsets that wait for their marker, and the marker; what deletions leave.  *)
EXTENDS Log

\* GMM:340
StoreTransaction(s, r) ==
  IF r.tooLong THEN {Answer(s, ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE AppendToLog([s EXCEPT !.group.transaction = [is |-> "held", newer |-> TRUE],
                             !.group.awaited = TRUE],
                   [NoEntry EXCEPT !.kind = "transaction", !.offset = 6])

\* The offset can be read if it is committed, and no newer one has been. GM:660
Ended(s, committed) ==
  LET readable == committed /\ s.group.transaction.newer
  IN [s EXCEPT !.group.offset = IF readable THEN 6 ELSE @,
               !.group.transaction = NoTransaction, !.group.awaited = FALSE]

\* The marker is in the log, whoever coordinates the group.
Marked(s, committed) ==
  [s EXCEPT !.log.offset = IF committed /\ s.log.transaction.newer THEN 6 ELSE @,
            !.log.transaction = NoTransaction]

\* The records that remove the offset and the group, in one append for which nobody waits. GMM:843
Removed(s, offset, group) ==
  LET recorded == group /\ s.group.generation > 0
  IN IF ~offset /\ ~recorded THEN s
     ELSE IF s.failing # Fine \/ ~Logged THEN [s EXCEPT !.failing = Fine]
     ELSE [s EXCEPT
             !.log.group = IF recorded THEN NoRecord ELSE @,
             !.log.offset = IF offset THEN NoOffset ELSE @,
             !.log.transaction.newer = @ \/ (offset /\ s.log.transaction.is = "pending")]

=============================================================================
