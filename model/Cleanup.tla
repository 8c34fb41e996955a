------------------------------- MODULE Cleanup --------------------------------
(* The cleanup: expired offsets go, and groups that are left with none.        *)
EXTENDS Transactions, Timers

\* The offset has no more time, its own or that of a group without members.
Past(offset) == offset.left =< Least
PastWith(g) == Past([g.offset EXCEPT !.left = IF g.offset.fixed THEN @ ELSE g.emptyLeft])

\* Whether the one offset expires. 4.1 CG:949
Expired(g) ==
  IF g.offset = NoOffset THEN FALSE
  ELSE IF EmptyDies THEN Past(g.offset)                \* cleanup/each-by-itself 0.10.0 GMM:545
  ELSE IF g.unstable # 0 \/ (AwaitsTransactions /\ g.transaction # NoTransaction) THEN FALSE
  ELSE IF ~RetainedFromEmpty THEN Past(g.offset)       \* cleanup/each-by-itself 0.10.2 GM:303
  ELSE IF g.protocolType = Null THEN Past(g.offset)    \* cleanup/simple GM:755
  ELSE IF g.state = "Empty" THEN PastWith(g)           \* cleanup/empty GM:734
  ELSE IF g.protocolType = "consumer" /\ (g.state = "Stable" \/ ~ExpiresInPeace)
  THEN Past(g.offset) /\ "topic" \notin g.subscribed   \* cleanup/consumers GM:745
  ELSE FALSE                                           \* cleanup/in-use GM:760

\* Without its offset whatever a transaction has pending is newer. An Empty group that has no
\* offset left, nor awaits any, is gone. GMM:784
Cleaned(s) ==
  LET g == s.group
      expired == g # NoGroup /\ Expired(g)
      left == IF expired
              THEN [g EXCEPT !.offset = NoOffset,
                             !.transaction.newer = @ \/ g.transaction.is = "pending"]
              ELSE g
      dies == /\ g # NoGroup /\ g.state = "Empty"
              /\ left.offset = NoOffset /\ g.unstable = 0 /\ ~g.awaited
      t == Removed(s, expired, dies)
  IN IF g = NoGroup \/ ~s.active THEN {s}              \* cleanup/nothing GMM:786
     ELSE IF RemovalFails(s, expired \/ dies) THEN NotRemoved(s)
     ELSE IF dies THEN {[NoteRemoved(t) EXCEPT !.group = NoGroup]}  \* cleanup/group-gone GMM:808
     ELSE {[t EXCEPT !.group = left]}

=============================================================================
