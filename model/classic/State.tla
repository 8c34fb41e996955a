-------------------------------- MODULE State --------------------------------
(* What a group, a member and an append are, and the responses to requests.   *)
EXTENDS Profile

NoMember        == ""             \* of a request: no member id
Instance        == "instance"     \* the group.instance.id of static members
UnknownInstance == "no-instance"  \* a group.instance.id that no member has
NoInstance      == ""             \* of a member or a request: no group.instance.id
RemovedId       == "gone"         \* the id of a removed member, which no client uses again
UnknownId       == "nobody"       \* a member id that the coordinator never assigned
Null            == "null"         \* a field of a request that is not set
GroupId         == "group"
Stopped         == -1             \* of a timer: it does not run
Never           == -1             \* of an unstable offset: no append makes it stable
Forever         == 1000000        \* of a timer: longer than any instance takes
NoOffset        == [at |-> -1, left |-> Forever, fixed |-> FALSE]
NoTimer         == [left |-> Stopped, initial |-> FALSE, round |-> 0, extension |-> 0]
NoGroup         == [state |-> "None"]
NoEntries       == [n \in {} |-> 0]
NoError         == "NONE"         \* of the next append: it does not fail
NoRecord        == [kind |-> "none"]
NewRecord       == [generation |-> 0, protocolType |-> Null, protocolName |-> Null,
                    leader |-> NoMember, emptyLeft |-> Stopped, members |-> [n \in {} |-> 0]]
NoTransaction   == [status |-> "none", newer |-> FALSE, offset |-> NoOffset]
NoLog           == [group |-> NoRecord, offset |-> NoOffset, transaction |-> NoTransaction,
                    emptied |-> FALSE]  \* has only deleted and aborted offsets of the group

Range(metadata) == <<[name |-> "range", metadata |-> metadata]>>

\* The protocol lists that members send; a new member sends the first.
OtherOffer == <<[name |-> "sticky", metadata |-> "one"]>> \o Range("one")
Offers == IF "metadata" \in Features THEN <<Range("one"), Range("two")>>
          ELSE IF Expires /\ DeletesOffsets THEN <<Range("to other"), Range("to topic")>>
          ELSE IF Expires THEN <<Range("to other")>>
          ELSE IF Administered THEN <<Range("to other")>> ELSE <<Range("one")>>

\* The topics that metadata subscribes to. Unreadable metadata counts as all of them.
Topics    == {"topic", "other"}
TopicsOf(metadata) == IF metadata = "to other" THEN {"other"}
                      ELSE IF metadata = "to topic" THEN {"topic"} ELSE Topics

NewGroup ==
  [state          |-> "Empty",
   generation     |-> 0,
   protocolType   |-> Null,
   protocolName   |-> Null,
   leader         |-> NoMember,
   members        |-> NoEntries,  \* by name
   pending        |-> NoEntries,  \* ids assigned with MEMBER_ID_REQUIRED: time left
   joinTimer      |-> NoTimer,
   newMemberAdded |-> FALSE,
   offset         |-> NoOffset,   \* of the only partition
   unstable       |-> 0,          \* the held append of its last commit, 0 if none, Never
   statics        |-> NoEntries,  \* member id by group.instance.id
   notPersisted   |-> FALSE,      \* no record of it is in the log, and that hides it
   syncLeft       |-> Stopped,    \* of the time to sync, while a member has not
   lostSync       |-> FALSE,      \* whether the generation waits for an id that was replaced
   transaction    |-> NoTransaction,  \* of the only producer: none, held or pending
   awaitsMarker   |-> FALSE,      \* whether the transaction is open, even without its offset
   emptyLeft      |-> Stopped,    \* of the retention, since the last member left
   subscribed     |-> Topics,     \* of the members; all topics if that is not known
   orphanedTimers |-> NoEntries]  \* session timers of dropped members: number by time left

\* An append that is not complete, a deferred response, or a parked request that waits for a commit.
NoAppend ==
  [kind        |-> "",
   error       |-> NoError,
   generation  |-> 0,          \* of assignments
   assignments |-> NoEntries,
   offset      |-> NoOffset,   \* of a commit
   afterUnload |-> FALSE,      \* the group was unloaded, and only the response is left
   newId       |-> NoMember,   \* of a static member that rejoined
   memberId    |-> NoMember,   \* its id by now
   leader      |-> NoMember,   \* before it rejoined
   current     |-> FALSE,      \* whether the response names the leader of the time it is sent
   replaced    |-> NoMember,   \* the id that a failure restores
   idWasKnown  |-> TRUE,       \* whether clients knew that id
   offered     |-> <<>>,       \* the protocols that a failure restores
   api         |-> "",         \* of a request or a response
   of          |-> NoMember,   \* the member whose request is parked
   answer      |-> NoEntries,  \* the deferred response
   members     |-> <<>>]       \* the members that a deferred response to LeaveGroup lists

\* Which group is visible to requests that only read: all records are committed, or only the newest
\* state, no group, or a removed group is visible.
AllCommitted == [visible |-> "everything", offset |-> NoOffset, protocolType |-> Null]

IsDead(g)         == g = NoGroup \/ g.state = "Dead"
Max(a, b)         == IF a > b THEN a ELSE b
Min(a, b)         == IF a < b THEN a ELSE b
Without(f, names) == [n \in DOMAIN f \ names |-> f[n]]
With(f, n, value) == [k \in DOMAIN f \cup {n} |-> IF k = n THEN value ELSE f[k]]
StaticMemberId(g, instance) ==
  IF instance \in DOMAIN g.statics THEN g.statics[instance] ELSE NoMember
\* 4.1 CG:805
IsUnknownInstance(g, r) ==
  ChecksInstances /\ r.instance # NoInstance /\ StaticMemberId(g, r.instance) = NoMember
\* GM:399
IsFenced(g, r) == StaticMemberId(g, r.instance) \notin {NoMember, r.memberId}
Members(g)        == IF g = NoGroup THEN {} ELSE DOMAIN g.members
Pending(g)        == IF g = NoGroup THEN {} ELSE DOMAIN g.pending
KnownIds(g)       == {n \in Members(g) : g.members[n].idKnown}
StaticId(g)       == IF g = NoGroup THEN NoMember ELSE StaticMemberId(g, Instance)
IdsInLog(l)       == IF l.group = NoRecord THEN {} ELSE DOMAIN l.group.members
FreeNames(g, l)   == Names \ (Members(g) \cup Pending(g) \cup IdsInLog(l))
Answer(s, answer) == [s EXCEPT !.answers = @ \cup {answer}]

\* The step applies a rule, by its id.
Apply(s, rule) == [s EXCEPT !.rules = @ \cup {rule}]
ApplyIf(s, holds, rule) == IF holds THEN Apply(s, rule) ELSE s

\* The recipient of a response: this request, one whose append was held, or a parked one.
This == <<"this", "">>
Held == <<"held", "">>
Parked(api, n) == <<api, n>>

JoinAnswer(to, error, memberId) ==
  [to |-> to, error |-> error, memberId |-> memberId, generation |-> -1,
   protocolType |-> Null, protocolName |-> Null, leader |-> NoMember, members |-> NoEntries,
   skips |-> FALSE]

Refusal(error, memberId) ==
  [JoinAnswer(This, error, memberId) EXCEPT !.generation = RefusedGeneration]

SyncAnswer(to, error) ==
  [to |-> to, error |-> error, protocolType |-> Null, protocolName |-> Null, assignment |-> ""]

ErrorAnswer(to, error) == [to |-> to, error |-> error]

\* A newer request replaces the one that the member has parked.
DropParkedBefore(s, api, n) ==
  [s EXCEPT !.appends = [i \in DOMAIN @ |->
     [s.appends[i] EXCEPT !.of = IF @ = n /\ s.appends[i].api = api THEN RemovedId ELSE @]]]

\* A response that is deferred until all records are committed. 4.1 CR:955
AnswerWhenCommitted(s, api, answer) ==
  IF s.committed = AllCommitted THEN Answer(s, answer)
  ELSE [s EXCEPT !.appends = Append(@, [NoAppend EXCEPT
          !.kind = "answer", !.api = api, !.answer = [answer EXCEPT !.to = Held]])]

==============================================================================
