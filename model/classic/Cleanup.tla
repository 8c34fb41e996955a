------------------------------- MODULE Cleanup -------------------------------
(* The cleanup removes expired offsets, and groups that have none left.       *)
EXTENDS Transactions, Timers

\* Whether the retention of an offset is over: its own, or that of a group without members.
IsOver(offset) == offset.left =< LeastLeft
IsOverWithGroup(g) == IsOver([g.offset EXCEPT !.left = IF g.offset.fixed THEN @ ELSE g.emptyLeft])

\* The rule that decides which offsets expire. 4.1 CG:949
RetentionRule(s) ==
  LET g == s.group
      readable == g.protocolType = "consumer" /\ g.subscribed # Topics
  IN IF g = NoGroup \/ ~s.active THEN "cleanup/nothing"                  \* GMM:786
     ELSE IF ~RetainedFromEmpty THEN "cleanup/each-offset"                 \* 0.10.2 GM:303
     ELSE IF g.protocolType = Null THEN "cleanup/simple"                             \* GM:755
     ELSE IF g.state = "Empty" THEN "cleanup/empty"                                  \* GM:734
     ELSE IF readable /\ (g.state = "Stable" \/ ~ExpiresOnlyInStable)
     THEN "cleanup/consumers"                                                        \* GM:745
     ELSE "cleanup/in-use"                                                           \* GM:760

\* Whether the one offset expires. A commit whose append is not complete keeps it, except in
\* 0.10.0 (GMM:545).
Expired(g, rule) ==
  IF g.offset = NoOffset THEN FALSE
  ELSE IF g.unstable # 0 /\ ~EmptyGroupsDie THEN FALSE
  ELSE IF TransactionsKeepOffsets /\ g.transaction # NoTransaction THEN FALSE
  ELSE CASE rule \in {"cleanup/each-offset", "cleanup/simple"} -> IsOver(g.offset)
         [] rule = "cleanup/empty"     -> IsOverWithGroup(g)
         [] rule = "cleanup/consumers" -> IsOver(g.offset) /\ "topic" \notin g.subscribed
         [] OTHER                      -> FALSE

\* Once the offset is removed, a pending offset of a transaction is newer. An Empty group without
\* an offset, and without a pending one, is removed. GMM:784
CleanUp(s) ==
  LET g == s.group
      rule == RetentionRule(s)
      looked == Apply(s, rule)
      expired == g # NoGroup /\ Expired(g, rule)
      left == IF expired
              THEN [g EXCEPT !.offset = NoOffset,
                             !.transaction.newer = @ \/ g.transaction.status = "pending"]
              ELSE g
      dies == /\ g # NoGroup /\ g.state = "Empty"
              /\ left.offset = NoOffset /\ g.unstable = 0 /\ ~g.awaitsMarker
      t == WriteRemoval(ApplyIf(looked, expired, "cleanup/expired"), expired, dies)
  IN IF rule = "cleanup/nothing" THEN {looked}
     ELSE IF RemovalFails(s, expired \/ dies) THEN RemovalIsRolledBack(looked)
     ELSE IF dies                                                                   \* GMM:808
     THEN {[NoteRemoved(Apply(t, "cleanup/group-removed")) EXCEPT !.group = NoGroup]}
     ELSE {[t EXCEPT !.group = left]}

==============================================================================
