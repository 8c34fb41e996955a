------------------------------- MODULE Waiting --------------------------------
(* Who waits until what was written is committed, and is told if the partition *)
(* is lost before that.                                                        *)
EXTENDS Log

\* Whether a member's JoinGroup or SyncGroup is parked.
IsParked(s, api, n) ==
  IF n \notin Members(s.group) THEN FALSE
  ELSE IF api = "JoinGroup" THEN s.group.members[n].awaitingJoin
  ELSE s.group.members[n].awaitingSync

\* A request is parked while something is written that is not committed.
HoldRequest(s, api, n) ==
  IF s.committed = Everything THEN s
  ELSE [s EXCEPT !.appends = Append(@, [NoEntry EXCEPT !.kind = "request", !.api = api, !.of = n])]

\* An entry of a parked request: the group waits for it no longer once it was answered; if it will
\* not be answered, nobody's name is on it.
Due(s, entry) ==
  LET told == \E a \in s.answers :
                a.to = Parked(entry.api, entry.of) /\ a.error # "FENCED_INSTANCE_ID"
  IN IF entry.of \in {NoMember, GoneId} THEN entry
     ELSE IF told THEN [entry EXCEPT !.of = NoMember]
     ELSE IF ~IsParked(s, entry.api, entry.of) THEN [entry EXCEPT !.of = GoneId]
     ELSE entry

StillDue(s) ==
  LET due == [i \in DOMAIN s.appends |-> Due(s, s.appends[i])]
      waits(a) == ~(a.kind = "request" /\ a.of = NoMember)
  IN IF ~AnswersWait THEN s ELSE [s EXCEPT !.appends = SelectSeq(due, waits)]

\* What each API is answered with an error instead. A transaction's coordinator is told that this
\* is not the leader. 4.1 GCS:1996
LostAnswer(entry) ==
  CASE entry.api = "LeaveGroup"   ->
         [entry.answer EXCEPT !.error = "NOT_COORDINATOR", !.errors = <<>>]
    [] entry.api = "OffsetFetch"  -> [entry.answer EXCEPT !.error = "NOT_COORDINATOR", !.offset = -1]
    [] entry.api = "EndTxn"       -> [entry.answer EXCEPT !.error = "NOT_LEADER_OR_FOLLOWER"]
    [] entry.api = "DeleteGroups" -> [entry.answer EXCEPT !.each = {"NOT_COORDINATOR"}]
    [] entry.api = "OffsetDelete" ->
         [entry.answer EXCEPT !.error = "NOT_COORDINATOR", !.topics = {}]
    [] OTHER                      -> [entry.answer EXCEPT !.error = "NOT_COORDINATOR"]

\* Who has a parked request is told, if nobody has yet.
LoseRequest(s, api, n) ==
  LET to == IF n = GoneId THEN Held ELSE Parked(api, n)
      answer == IF api = "JoinGroup" THEN JoinAnswer(to, "NOT_COORDINATOR", NoMember)
                ELSE SyncAnswer(to, "NOT_COORDINATOR")
      told == Answer(s, answer)
  IN IF n = GoneId THEN told
     ELSE IF ~IsParked(s, api, n) THEN s
     ELSE IF api = "JoinGroup" THEN [told EXCEPT !.group.members[n].awaitingJoin = FALSE]
     ELSE [told EXCEPT !.group.members[n].awaitingSync = FALSE]

LoseStatic(s, entry) ==
  LET n == entry.memberId
      refusal == [CurrentGeneration(Parked("JoinGroup", n), s.group, NoMember) EXCEPT
                    !.error = "NOT_COORDINATOR", !.leader = entry.leader, !.members = NoEntries]
  IN IF IsParked(s, "JoinGroup", n)
     THEN [Answer(s, refusal) EXCEPT !.group.members[n].awaitingJoin = FALSE]
     ELSE s

LoseOne(s, entry) ==
  CASE entry.kind = "answer"  -> Answer(s, LostAnswer(entry))
    [] entry.kind = "request" -> LoseRequest(s, entry.api, entry.of)
    [] entry.kind = "static"  -> LoseStatic(s, entry)
    [] entry.kind = "group"   ->
         LET t == IF Awaits(s, entry) THEN PropagateAssignment(s, "NOT_COORDINATOR") ELSE s
         IN IF entry.of = NoMember THEN t ELSE LoseRequest(t, "SyncGroup", entry.of)

RECURSIVE LoseFrom(_, _, _)
LoseFrom(s, entries, place) ==
  IF place > Len(entries) THEN s
  ELSE LoseFrom(LoseOne(s, entries[place]), entries, place + 1)

\* All that waits fails, in order.
Lost(s) ==
  IF ~AnswersWait THEN s
  ELSE LET t == ApplyIf(s, s.appends # <<>>, "log/answers-lost")
       IN [LoseFrom([t EXCEPT !.appends = <<>>], s.appends, 1) EXCEPT !.committed = Everything]

=============================================================================
