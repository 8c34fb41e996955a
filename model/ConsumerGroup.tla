---------------------------- MODULE ConsumerGroup ----------------------------
(* One consumer group at its coordinator, as Apache Kafka keeps it: the        *)
(* classic protocol, dynamic members, versions 0.10.0, 0.10.2 and 2.7. Each    *)
(* process of the algorithm is an API of the coordinator, or something else    *)
(* that happens to it; the labels are the names of the Python functions that   *)
(* transcribe them, the headings those of their modules. TLC and the Python    *)
(* explorer are held to the same states.                                       *)
(*                                                                             *)
(* A step of the coordinator is a value on its way: a record of the variables. *)
(* An operator that takes one gives the set of steps that may follow where     *)
(* Kafka leaves something open: who leads after the leader left, a tied vote,  *)
(* the order of timers due together.                                           *)
(*                                                                             *)
(* Comments name the rules and cite Kafka's source, at tag 2.7.2 where they    *)
(* say no other: GC is GroupCoordinator.scala, GM GroupMetadata.scala, GMM     *)
(* GroupMetadataManager.scala.                                                 *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Version,         \* of Kafka: "0.10.0", "0.10.2" or "2.7"
  Names,           \* of members, strings; also how many there are at one time
  Features,        \* what there is besides members: clients.py says what each is
  SessionTicks,    \* the session timeout of every member
  RebalanceTicks,  \* the rebalance timeout of every member
  DelayTicks,      \* group.initial.rebalance.delay.ms
  NewMemberTicks   \* how long a new member may wait for its first generation

Timed       == "time" \in Features     \* else none but the initial delay ever passes
WithOffsets == "offsets" \in Features  \* are committed and fetched
Fails       == "failing-appends" \in Features  \* one append after the other may
Moves       == "failover" \in Features  \* the partition, and the coordinator is shut down
Logged      == Moves \/ "crashes" \in Features  \* what will be loaded one day
MaxHeld     == IF "held-appends" \in Features THEN 1 ELSE 0  \* incomplete at a time

\* What differs between the versions.
Old == Version \in {"0.10.0", "0.10.2"}
GivesIdsFirst      == ~Old  \* MEMBER_ID_REQUIRED, pending members (KIP-394)
InitialDelay       == ~Old  \* from Empty the join phase lasts a delay (KIP-134)
NewMembersExpire   == ~Old  \* a parked JoinGroup is no life for ever (KAFKA-7610)
RemovedAreAnswered == ~Old  \* who is removed with its JoinGroup parked is told (KAFKA-7610)
ChecksEveryGroupId == ~Old  \* not only JoinGroup's
ChecksFirstOffer   == ~Old  \* of who joins an Empty group (KAFKA-6005)
SyncsByProtocol    == ~Old  \* SyncGroup says type and name (KIP-559)
LeavesInBatches    == ~Old  \* (KIP-345)
FetchesStable      == ~Old  \* (KIP-447)
AliveInCompleting  == ~Old  \* heartbeats count in CompletingRebalance (KAFKA-10134)
DroppedKeepTimers  == Old   \* and end one day: 0.10.2 GC:685,739
CompletingFirst    == Old   \* a commit is refused before its member is looked at
AliveInPreparing   == Version # "0.10.0"  \* heartbeats count in PreparingRebalance
EmptyDies          == Version = "0.10.0"  \* there is no Empty state (until KAFKA-2720)
Begins             == IF EmptyDies THEN "Stable" ELSE "Empty"
LoadedAreStatic    == Version = "2.7"  \* whoever is loaded from the log (until KAFKA-10497)
ReplicasAreMapped  == Version # "0.10.0"  \* NOT_ENOUGH_REPLICAS of an append
RebalanceTimeout   == IF Version = "0.10.0" THEN SessionTicks ELSE RebalanceTicks
RefusedGeneration  == IF Old THEN 0 ELSE -1
CompletingName     == IF Old THEN "AwaitingSync" ELSE "CompletingRebalance"

NoMember  == ""        \* of a request: no member id
Nobody    == "nobody"  \* a member id that was never given out
Null      == "null"    \* a field of a request that is not set
GroupId   == "group"
Stopped   == -1        \* of a timer: it does not run
Forever   == 1000000   \* of a timer: longer than any test
NoOffset  == -1
NoTimer   == [left |-> Stopped, initial |-> FALSE, round |-> 0, extension |-> 0]
NoGroup   == [state |-> "None"]
NoEntries == [n \in {} |-> 0]
Fine      == "NONE"    \* no error; of the next append: it will not fail
NoRecord  == [kind |-> "none"]
NoLog     == [group |-> NoRecord, offset |-> NoOffset]

Range(metadata) == <<[name |-> "range", metadata |-> metadata]>>

\* The protocol lists that members send, the first when new.
Offers == IF "metadata" \in Features THEN <<Range("one"), Range("two")>> ELSE <<Range("one")>>

NewGroup ==
  [state          |-> "Empty",
   generation     |-> 0,
   protocolType   |-> Null,
   protocolName   |-> Null,
   leader         |-> NoMember,
   members        |-> NoEntries,  \* by name
   pending        |-> NoEntries,  \* names given out with MEMBER_ID_REQUIRED: time left
   joinTimer      |-> NoTimer,
   newMemberAdded |-> FALSE,
   offset         |-> NoOffset,   \* of the one partition there is
   unstable       |-> 0,          \* the held append of its last commit, 0 if none
   ghosts         |-> NoEntries]  \* by time left: session timers of members that are gone

Gone(g) == g = NoGroup \/ g.state = "Dead"
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Without(f, names) == [n \in DOMAIN f \ names |-> f[n]]
With(f, n, value) == [k \in DOMAIN f \cup {n} |-> IF k = n THEN value ELSE f[k]]
Answer(s, answer) == [s EXCEPT !.answers = @ \cup {answer}]

------------------------------------------------------------------------------
(* Answers, and the requests they are to: the one of this step, or a parked    *)
(* one of a member.                                                            *)

This      == <<"this", "">>
Parked(api, n) == <<api, n>>

JoinAnswer(to, error, memberId) ==
  [to |-> to, error |-> error, memberId |-> memberId, generation |-> -1,
   protocolType |-> Null, protocolName |-> Null, leader |-> NoMember, members |-> NoEntries]

Refusal(error, memberId) ==
  [JoinAnswer(This, error, memberId) EXCEPT !.generation = RefusedGeneration]

SyncAnswer(to, error) ==
  [to |-> to, error |-> error, protocolType |-> Null, protocolName |-> Null, assignment |-> ""]

ErrorAnswer(to, error) == [to |-> to, error |-> error]

------------------------------------------------------------------------------
(* session: a member's session timer, and parked SyncGroups                    *)

\* A parked request counts as a heartbeat, but not that of a new member.
RearmSession(m) ==
  [m EXCEPT !.sessionLeft =
     IF (m.awaitingJoin \/ m.awaitingSync) /\ ~m.isNew THEN Stopped ELSE SessionTicks]

\* GC:935
PropagateAssignment(s, error) ==
  LET g == s.group
      parked == {n \in DOMAIN g.members : g.members[n].awaitingSync}
      answer(n) ==
        IF error = "NONE"
        THEN [SyncAnswer(Parked("SyncGroup", n), error) EXCEPT
                !.protocolType = g.protocolType, !.protocolName = g.protocolName,
                !.assignment = g.members[n].assignment]
        ELSE SyncAnswer(Parked("SyncGroup", n), error)
  IN [s EXCEPT
        !.answers = @ \cup {answer(n) : n \in parked},
        !.group.members = [n \in DOMAIN g.members |->
          IF n \in parked THEN RearmSession([g.members[n] EXCEPT !.awaitingSync = FALSE])
                          ELSE g.members[n]]]

------------------------------------------------------------------------------
(* rebalance: how one begins, ends, gains and loses members                    *)

SupportedByAll(members, name) ==  \* GM:446
  \A n \in DOMAIN members : \E i \in DOMAIN members[n].protocols :
    members[n].protocols[i].name = name

MetadataOf(m, name) ==
  LET i == CHOOSE i \in DOMAIN m.protocols :
             /\ m.protocols[i].name = name
             /\ \A j \in DOMAIN m.protocols : j < i => m.protocols[j].name # name
  IN m.protocols[i].metadata

\* The protocols with the most votes, each member for the first that all support. GM:420
SelectProtocol(members) ==
  LET supported(n) == {i \in DOMAIN members[n].protocols :
                         SupportedByAll(members, members[n].protocols[i].name)}
      vote(n) == LET first == CHOOSE i \in supported(n) : \A j \in supported(n) : i =< j
                 IN members[n].protocols[first].name
      votes(name) == Cardinality({n \in DOMAIN members : vote(n) = name})
      voted == {vote(n) : n \in {m \in DOMAIN members : supported(m) # {}}}
  IN {name \in voted : \A other \in voted : votes(other) =< votes(name)}

\* In Stable not even a leader gets the list: it need not assign again. GC:327
CurrentGeneration(to, g, n) ==
  [JoinAnswer(to, "NONE", n) EXCEPT
     !.generation = g.generation, !.leader = g.leader,
     !.protocolType = g.protocolType, !.protocolName = g.protocolName,
     !.members = IF n = g.leader /\ g.state = "CompletingRebalance"
                 THEN [k \in DOMAIN g.members |-> MetadataOf(g.members[k], g.protocolName)]
                 ELSE NoEntries]

\* If the leader is among them any other may follow it. GM:259
DropMembers(s, names) ==
  LET left == Without(s.group.members, names)
      g == [s.group EXCEPT !.members = left]
  IN IF s.group.leader \notin names THEN {[s EXCEPT !.group = g]}
     ELSE IF DOMAIN left = {} THEN {[s EXCEPT !.group = [g EXCEPT !.leader = NoMember]]}
     ELSE {[s EXCEPT !.group = [g EXCEPT !.leader = n]] : n \in DOMAIN left}

\* The session timers of members that are dropped run on. 0.10.2 GC:685
KeepTimers(g, dropped) ==
  LET left == {g.members[n].sessionLeft : n \in dropped} \ {Stopped}
      count(k) == Cardinality({n \in dropped : g.members[n].sessionLeft = k})
      before(k) == IF k \in DOMAIN g.ghosts THEN g.ghosts[k] ELSE 0
  IN [k \in DOMAIN g.ghosts \cup left |-> before(k) + count(k)]

DropNotRejoined(s, absent) ==
  IF absent = {} THEN {s}
  ELSE LET kept == [s EXCEPT !.group.ghosts =
                      IF DroppedKeepTimers THEN KeepTimers(s.group, absent) ELSE @]
       IN DropMembers(kept, absent)

\* The member is answered, and its session starts anew.
Admitted(m) ==
  [RearmSession([m EXCEPT !.awaitingJoin = FALSE]) EXCEPT !.isNew = FALSE, !.told = TRUE]

BeginGeneration(s, name) ==
  LET g == [s.group EXCEPT !.state = "CompletingRebalance", !.protocolName = name]
  IN [s EXCEPT
        !.answers = @ \cup
          {CurrentGeneration(Parked("JoinGroup", n), g, n)
             : n \in {m \in DOMAIN g.members : g.members[m].awaitingJoin}},
        !.group = [g EXCEPT !.members = [n \in DOMAIN g.members |-> Admitted(g.members[n])]]]

\* The log has what is appended at once, of what fails it has nothing; of a member's protocols
\* it has the one that was chosen. GMM:1256
RecordGroup(s, given) ==
  LET g == s.group
      named(p) == p.name = g.protocolName
  IN IF ~Logged THEN s
     ELSE [s EXCEPT !.log.group =
             [protocolType |-> g.protocolType, protocolName |-> g.protocolName,
              leader |-> g.leader,
              members |-> [n \in DOMAIN g.members |->
                [protocols |-> SelectSeq(g.members[n].protocols, named),
                 assignment |-> given[n]]]]]

\* For these two nobody waits, and nobody is told if they fail. GC:1213, 0.10.0 GMM:136
RecordEmpty(s) ==
  IF s.failing = Fine THEN RecordGroup(s, NoEntries) ELSE [s EXCEPT !.failing = Fine]
RemoveGroup(s) ==
  IF s.failing = Fine THEN [s EXCEPT !.log.group = NoRecord] ELSE [s EXCEPT !.failing = Fine]

\* Its offsets stay; assignments on their way to the log reach nobody. 0.10.0 GC:657
Buried(s) ==
  [RemoveGroup(s) EXCEPT
     !.group = [NewGroup EXCEPT !.state = "Dead", !.offset = s.group.offset,
                                !.unstable = s.group.unstable],
     !.appends = [i \in DOMAIN s.appends |-> [s.appends[i] EXCEPT !.generation = 0]]]

\* The join phase ends with those who joined, and static members, of whom one that has joined is
\* to lead; if none has, the rebalance timeout begins anew. GC:1183
CompleteJoin(s) ==
  LET absent == {n \in DOMAIN s.group.members :
                   ~s.group.members[n].awaitingJoin /\ ~s.group.members[n].static}
      joined(t) == {n \in DOMAIN t.group.members : t.group.members[n].awaitingJoin}
      leads(t) == t.group.leader \in joined(t) \cup {NoMember}
      led(t) == IF leads(t) THEN {t} ELSE {[t EXCEPT !.group.leader = n] : n \in joined(t)}
      again(t) == [t EXCEPT !.group.joinTimer = [NoTimer EXCEPT !.left = RebalanceTimeout]]
      raised(t) == [t EXCEPT !.group.generation = @ + 1, !.group.joinTimer = NoTimer]
      ended(t) ==
        LET members == t.group.members
            names == SelectProtocol(members)
        IN IF DOMAIN members = {}
           THEN {RecordEmpty([t EXCEPT !.group.state = "Empty", !.group.protocolName = Null])}
           ELSE IF names # {} THEN {BeginGeneration(t, name) : name \in names}
           \* The only member offers nothing, and Kafka fails half-way. rebalance/no-protocol
           ELSE {Answer(t, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
  IN UNION {IF EmptyDies /\ DOMAIN t.group.members = {} THEN {Buried(t)}
            ELSE IF ~leads(t) /\ joined(t) = {} THEN {again(t)}  \* rebalance/nobody-rejoined
            ELSE UNION {ended(raised(u)) : u \in led(t)}
            : t \in DropNotRejoined(s, absent)}

\* Ids given out and not yet used are waited for; the initial delay is never cut short. GC:1171
CheckJoinComplete(s) ==
  LET g == s.group
  IN IF \/ g.joinTimer = NoTimer \/ g.joinTimer.initial
        \/ DOMAIN g.pending # {}
        \/ \E n \in DOMAIN g.members : ~g.members[n].awaitingJoin
     THEN {s} ELSE CompleteJoin(s)

\* GC:1123
PrepareRebalance(s) ==
  LET t == IF s.group.state = "CompletingRebalance"
           THEN PropagateAssignment(s, "REBALANCE_IN_PROGRESS") ELSE s
      g == t.group
      timeout == IF DOMAIN g.members = {} THEN 0 ELSE RebalanceTimeout
      timer == IF g.state = "Empty" /\ InitialDelay
               THEN [left |-> DelayTicks, initial |-> TRUE, round |-> DelayTicks,
                     extension |-> Max(timeout - DelayTicks, 0)]
               ELSE [NoTimer EXCEPT !.left = timeout]
  IN CheckJoinComplete([t EXCEPT !.group =
       [g EXCEPT !.state = "PreparingRebalance", !.joinTimer = timer,
          !.members = [n \in DOMAIN g.members |-> [g.members[n] EXCEPT !.assignment = ""]]]])

MaybePrepareRebalance(s) ==  \* GC:1115
  IF s.group.state = "PreparingRebalance" THEN {s} ELSE PrepareRebalance(s)

\* GC:990
AddMember(s, n, protocols) ==
  LET g == s.group
      m == [protocols |-> protocols, isNew |-> NewMembersExpire, told |-> n \in DOMAIN g.pending,
            sessionLeft |-> IF NewMembersExpire THEN NewMemberTicks ELSE Stopped,
            awaitingJoin |-> TRUE, awaitingSync |-> FALSE, assignment |-> "", static |-> FALSE]
  IN MaybePrepareRebalance([s EXCEPT !.group =
       [g EXCEPT
          !.members = With(@, n, m), !.pending = Without(@, {n}),
          !.protocolType = IF DOMAIN g.members = {} THEN "consumer" ELSE @,
          !.leader = IF @ = NoMember THEN n ELSE @,
          !.newMemberAdded = @ \/ (g.state = "PreparingRebalance" /\ g.generation = 0)]])

\* An earlier JoinGroup of the member that is still parked will never be answered. GM:496
ParkJoin(s, n, protocols) ==
  [s EXCEPT !.group.members[n] =
     [@ EXCEPT !.protocols = protocols, !.awaitingJoin = TRUE,
               !.sessionLeft = IF s.group.members[n].isNew THEN @ ELSE Stopped]]

\* A parked JoinGroup is told to start anew; a parked SyncGroup is never answered. GC:1147
RemoveMember(s, n) ==
  LET t == IF s.group.members[n].awaitingJoin /\ RemovedAreAnswered
           THEN Answer(s, JoinAnswer(Parked("JoinGroup", n), "UNKNOWN_MEMBER_ID", NoMember))
           ELSE s
  IN UNION {IF u.group.state = "PreparingRebalance" THEN CheckJoinComplete(u)
                                                    ELSE PrepareRebalance(u)
            : u \in DropMembers(t, {n})}

\* GC:1163
RemovePending(s, n) ==
  LET t == [s EXCEPT !.group.pending = Without(@, {n})]
  IN IF t.group.state = "PreparingRebalance" THEN CheckJoinComplete(t) ELSE {t}

------------------------------------------------------------------------------
(* log: storing is a step of its own                                           *)

\* What the error of an append is to SyncGroup, and to OffsetCommit. GMM:283,430
CommitError(error) ==
  IF error = "NOT_ENOUGH_REPLICAS" /\ ReplicasAreMapped THEN "COORDINATOR_NOT_AVAILABLE"
  ELSE error
GroupError(error) ==
  IF error = "REQUEST_TIMED_OUT" THEN "REBALANCE_IN_PROGRESS" ELSE CommitError(error)

\* The assignments reach the members, if the group still waits for them. GC:427
CompleteGroupAppend(s, entry) ==
  LET g == s.group
      given == [s EXCEPT !.group.members =
                  [n \in DOMAIN g.members |->
                     [g.members[n] EXCEPT !.assignment = entry.assignments[n]]]]
  IN IF g.state # "CompletingRebalance" \/ g.generation # entry.generation THEN {s}
     ELSE IF entry.error # Fine  \* log/assignments-failed
     THEN MaybePrepareRebalance(PropagateAssignment(s, GroupError(entry.error)))
     ELSE {[PropagateAssignment(given, "NONE") EXCEPT !.group.state = "Stable"]}

\* Of one that outlives its group nothing more comes than the answer. GMM:405
CompleteOffsetsAppend(s, entry, place) ==
  LET t == IF entry.outlived THEN s
           ELSE [s EXCEPT !.group.offset = IF entry.error = Fine THEN entry.offset ELSE @,
                          !.group.unstable = IF @ = place THEN 0 ELSE @]
  IN {Answer(t, ErrorAnswer(IF place = 0 THEN This ELSE Parked("OffsetCommit", ""),
                            CommitError(entry.error)))}

CompleteAppend(s, entry, place) ==
  IF entry.kind = "group" THEN CompleteGroupAppend(s, entry)
                          ELSE CompleteOffsetsAppend(s, entry, place)

AppendToLog(s, entry) ==
  LET recorded == IF s.failing # Fine \/ ~Logged THEN s
                  ELSE IF entry.kind = "group" THEN RecordGroup(s, entry.assignments)
                  ELSE [s EXCEPT !.log.offset = entry.offset]
      t == [recorded EXCEPT !.failing = Fine]
      ends == [entry EXCEPT !.error = s.failing]
  IN IF s.holding THEN {[t EXCEPT !.appends = Append(@, ends)]} ELSE CompleteAppend(t, ends, 0)

RECURSIVE CompleteFrom(_, _, _)
CompleteFrom(s, entries, place) ==
  IF place > Len(entries) THEN {s}
  ELSE UNION {CompleteFrom(t, entries, place + 1) : t \in CompleteAppend(s, entries[place], place)}

Released(s) ==
  CompleteFrom([s EXCEPT !.appends = <<>>, !.holding = FALSE], s.appends, 1)

\* The leader's assignments go to the log, nothing for those it forgot. GC:415
StoreAssignments(s, given) ==
  AppendToLog(s, [kind |-> "group", generation |-> s.group.generation, offset |-> NoOffset,
              error |-> Fine, outlived |-> FALSE, assignments |-> [n \in DOMAIN s.group.members |->
                IF n \in DOMAIN given THEN given[n] ELSE ""]])

\* Where groups without members die, the offsets of one that never was are all there is of it.
OffsetsOnly(s) ==
  IF s.group # NoGroup THEN s
  ELSE [s EXCEPT !.group = [NewGroup EXCEPT !.state = IF EmptyDies THEN "Dead" ELSE "Empty"]]

\* GMM:340
StoreOffsets(s, r) ==
  IF r.tooLong THEN {Answer(s, ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE {[t EXCEPT !.group.unstable = IF s.holding THEN Len(t.appends) ELSE @]
        : t \in AppendToLog(s, [kind |-> "offsets", generation |-> 0, offset |-> 5,
                               error |-> Fine, outlived |-> FALSE, assignments |-> NoEntries])}

------------------------------------------------------------------------------
(* failover: the partition moves, the process dies, it is shut down            *)

\* Who waits is told to look elsewhere; commits on their way are answered later. GC:869
Unloaded(s) ==
  LET g == s.group
      members == IF g = NoGroup THEN {} ELSE DOMAIN g.members
      joins == {n \in members : g.members[n].awaitingJoin /\ g.joinTimer # NoTimer}
      syncs == {n \in members : g.members[n].awaitingSync}
      ofOffsets(a) == a.kind = "offsets"
      kept == SelectSeq(s.appends, ofOffsets)
  IN [s EXCEPT
        !.group = NoGroup, !.serving = "unloaded",
        !.appends = [i \in DOMAIN kept |-> [kept[i] EXCEPT !.outlived = TRUE]],
        !.answers = @
          \cup {[JoinAnswer(Parked("JoinGroup", n), "NOT_COORDINATOR", n) EXCEPT
                   !.generation = RefusedGeneration] : n \in joins}
          \cup {SyncAnswer(Parked("SyncGroup", n), "NOT_COORDINATOR") : n \in syncs}]

LoadedMember(m) ==
  [protocols |-> m.protocols, isNew |-> FALSE, told |-> TRUE, sessionLeft |-> SessionTicks,
   awaitingJoin |-> FALSE, awaitingSync |-> FALSE, assignment |-> m.assignment,
   static |-> LoadedAreStatic]

\* The group as it was last recorded, with the offsets. GMM:564
Loaded(s) ==
  LET r == s.log.group
      without == IF s.log.offset = NoOffset THEN NoGroup
                 ELSE [NewGroup EXCEPT !.state = IF EmptyDies THEN "Dead" ELSE "Empty",
                                       !.offset = s.log.offset]
      restored ==
        [NewGroup EXCEPT
           !.state = IF DOMAIN r.members = {} THEN "Empty" ELSE "Stable",
           !.generation = 1, !.protocolType = r.protocolType, !.protocolName = r.protocolName,
           !.leader = r.leader, !.offset = s.log.offset,
           !.members = [n \in DOMAIN r.members |-> LoadedMember(r.members[n])]]
  IN [s EXCEPT !.serving = "served", !.group = IF r = NoRecord THEN without ELSE restored]

\* What was on its way to the log is in it, and never answered. GMM:544
Crashed(s) ==
  LET t == [s EXCEPT !.group = NoGroup, !.appends = <<>>, !.active = TRUE]
  IN IF t.serving = "unloaded" THEN t ELSE Loaded(t)

------------------------------------------------------------------------------
(* timers: what every timer has left grows less; with nothing left it fires    *)

Elapse(s, ticks) ==
  IF s.group = NoGroup \/ ticks = 0 THEN s
  ELSE LET g == s.group
           less(left) == IF left = Stopped THEN Stopped ELSE left - ticks
       IN [s EXCEPT !.group =
             [g EXCEPT
                !.members = [n \in DOMAIN g.members |->
                  [g.members[n] EXCEPT !.sessionLeft = less(@)]],
                !.pending = [n \in DOMAIN g.pending |-> less(g.pending[n])],
                !.ghosts = [k \in {left - ticks : left \in DOMAIN g.ghosts} |->
                  g.ghosts[k + ticks]],
                !.joinTimer.left = less(@)]]

Timers(g) ==
  IF g = NoGroup THEN {}
  ELSE {[kind |-> "session", of |-> n, left |-> g.members[n].sessionLeft] : n \in DOMAIN g.members}
       \cup {[kind |-> "pending", of |-> n, left |-> g.pending[n]] : n \in DOMAIN g.pending}
       \cup {[kind |-> "ghost", of |-> "", left |-> k] : k \in DOMAIN g.ghosts}
       \cup {[kind |-> "join", of |-> "", left |-> g.joinTimer.left]}

DueNext(g, ticks) ==
  LET due == {t \in Timers(g) : t.left # Stopped /\ t.left =< ticks}
  IN {t \in due : \A other \in due : t.left =< other.left}

\* The end of the rebalance timeout, or of one round of initial delay. DelayedJoin.scala:44,69
EndJoinPhase(s) ==
  LET g == s.group
      timer == g.joinTimer
      round == Min(DelayTicks, timer.extension)
  IN IF timer.initial /\ g.newMemberAdded /\ timer.extension > 0
     THEN {[s EXCEPT
              !.group.newMemberAdded = FALSE,
              !.group.joinTimer = [left |-> round, initial |-> TRUE, round |-> round,
                                   extension |-> Max(timer.extension - timer.round, 0)]]}
     ELSE CompleteJoin(s)

\* 0.10.2 GC:739
EndGhost(s, left) ==
  LET ghosts == s.group.ghosts
      fewer == IF ghosts[left] = 1 THEN Without(ghosts, {left})
               ELSE With(ghosts, left, ghosts[left] - 1)
      t == [s EXCEPT !.group.ghosts = fewer]
  IN IF s.group.state \in {"CompletingRebalance", "Stable"} THEN PrepareRebalance(t) ELSE {t}

\* With nothing left.
Fire(s, timer) ==
  CASE timer.kind = "session" -> RemoveMember(s, timer.of)   \* GC:1278
    [] timer.kind = "pending" -> RemovePending(s, timer.of)  \* GC:1282
    [] timer.kind = "ghost"   -> EndGhost(s, 0)
    [] timer.kind = "join"    -> EndJoinPhase(s)

RECURSIVE PassTime(_, _)
PassTime(s, ticks) ==
  LET due == IF s.active THEN DueNext(s.group, ticks) ELSE {}
      first == (CHOOSE t \in due : TRUE).left
  IN IF ~s.active THEN {s}
     ELSE IF due = {} THEN {Elapse(s, ticks)}
     ELSE UNION {UNION {PassTime(t, ticks - first) : t \in Fire(Elapse(s, first), timer)}
                 : timer \in due}

------------------------------------------------------------------------------
(* What is the same about two states: which number a generation has (only the  *)
(* first and whether two are equal counts), what was assigned to somebody who  *)
(* is gone, and time, where none passes.                                       *)

Untimed(g) ==
  [g EXCEPT
     !.members = [n \in DOMAIN g.members |-> [g.members[n] EXCEPT !.sessionLeft = Stopped]],
     !.pending = [n \in DOMAIN g.pending |-> Forever],
     !.ghosts = NoEntries,
     !.joinTimer = IF @ = NoTimer THEN @
                   ELSE IF @.initial
                   THEN [@ EXCEPT !.left = g.joinTimer.round, !.extension = Forever]
                   ELSE [NoTimer EXCEPT !.left = Forever]]

Settled(s) ==
  IF s.group = NoGroup THEN s
  ELSE LET g == IF Timed THEN s.group ELSE Untimed(s.group)
           cut == Max(g.generation - 1, 0)
           known == DOMAIN g.members \cup DOMAIN g.pending
       IN [s EXCEPT
             !.group = [g EXCEPT !.generation = @ - cut],
             !.appends = [i \in DOMAIN @ |->
               [s.appends[i] EXCEPT !.generation = Max(@ - cut, 0),
                                    !.assignments = Without(@, DOMAIN @ \ known)]]]

\* How a step may end: timers of no length fire before it is done.
Ends(steps, ticks) ==
  {t \in {Settled(u) : u \in UNION {PassTime(s, ticks) : s \in steps}} : Len(t.appends) =< MaxHeld}

------------------------------------------------------------------------------
(* What clients ask                                                            *)

Members(g) == IF g = NoGroup THEN {} ELSE DOMAIN g.members
Pending(g) == IF g = NoGroup THEN {} ELSE DOMAIN g.pending
Told(g)    == {n \in Members(g) : g.members[n].told}
InLog(l)   == IF l.group = NoRecord THEN {} ELSE DOMAIN l.group.members
Free(g, l) == Names \ (Members(g) \cup Pending(g) \cup InLog(l))
Current(g) == IF g = NoGroup THEN 0 ELSE g.generation
Chosen(g)  == IF g = NoGroup \/ g.protocolName = Null THEN "range" ELSE g.protocolName
Orders(S)  == {q \in [1..Cardinality(S) -> S] : \A n \in S : \E i \in DOMAIN q : q[i] = n}

JoinGroupRequests(g, l) ==
  LET join(n) == [groupId |-> GroupId, givesId |-> GivesIdsFirst, memberId |-> n,
                  sessionTicks |-> SessionTicks, protocols |-> Offers[1]]
  IN {join(n) : n \in Told(g) \cup Pending(g) \cup {Nobody}}
     \cup {[join(n) EXCEPT !.protocols = Offers[i]] : n \in Told(g), i \in DOMAIN Offers}
     \cup {[join(n) EXCEPT !.protocols = <<>>] : n \in Told(g) \cup {NoMember}}
     \cup (IF Free(g, l) = {} THEN {}
           ELSE {join(NoMember), [join(NoMember) EXCEPT !.givesId = FALSE]})
     \cup (IF g # NoGroup THEN {}
           ELSE {[join(NoMember) EXCEPT !.groupId = ""],
                 [join(NoMember) EXCEPT !.sessionTicks = 0]})

SyncGroupRequests(g) ==
  LET sync(n) == [groupId |-> GroupId, generation |-> Current(g), memberId |-> n,
                  protocolType |-> IF SyncsByProtocol THEN "consumer" ELSE Null,
                  protocolName |-> IF SyncsByProtocol THEN Chosen(g) ELSE Null,
                  assignments |-> NoEntries]
      everybody == [n \in Members(g) |-> "part"]
  IN {[sync(n) EXCEPT !.assignments = IF g # NoGroup /\ n = g.leader THEN everybody ELSE @]
        : n \in Told(g) \cup {Nobody}}
     \cup {[sync(n) EXCEPT !.generation = @ - 1] : n \in Told(g)}
     \cup (IF ~SyncsByProtocol THEN {sync(n) : n \in Told(g)}  \* a leader that assigns nothing
           ELSE UNION {{[sync(n) EXCEPT !.protocolType = "connect"],
                        [sync(n) EXCEPT !.protocolName = "roundrobin"]} : n \in Told(g)})
     \cup (IF g # NoGroup THEN {}
           ELSE {[sync(Nobody) EXCEPT !.groupId = ""],
                 [sync(Nobody) EXCEPT !.protocolType = Null, !.protocolName = Null]})

HeartbeatRequests(g) ==
  LET heartbeat(n) == [groupId |-> GroupId, generation |-> Current(g), memberId |-> n]
  IN {heartbeat(n) : n \in Told(g) \cup {Nobody}}
     \cup {[heartbeat(n) EXCEPT !.generation = @ - 1] : n \in Told(g)}
     \cup (IF g # NoGroup THEN {} ELSE {[heartbeat(Nobody) EXCEPT !.groupId = ""]})

LeaveGroupRequests(g) ==
  LET leave(names) == [groupId |-> GroupId, memberIds |-> names]
  IN {leave(<<n>>) : n \in Told(g) \cup Pending(g) \cup {Nobody}}
     \cup (IF ~LeavesInBatches \/ Cardinality(Told(g)) < 2 THEN {}
           ELSE {leave(names) : names \in Orders(Told(g))})
     \cup (IF g # NoGroup THEN {} ELSE {[leave(<<Nobody>>) EXCEPT !.groupId = ""]})

OffsetCommitRequests(g) ==
  LET commit(n, generation) == [generation |-> generation, memberId |-> n,
                                tooLong |-> FALSE, nothing |-> FALSE]
  IN (IF ~WithOffsets THEN {}
      ELSE {commit(n, Current(g)) : n \in Told(g) \cup {Nobody}}
           \cup {commit(n, Current(g) - 1) : n \in Told(g)}
           \cup {commit(NoMember, -1), [commit(NoMember, -1) EXCEPT !.tooLong = TRUE]})
     \cup (IF g # NoGroup THEN {} ELSE {[commit(Nobody, 0) EXCEPT !.nothing = TRUE]})

OffsetFetchRequests(g) ==
  IF ~WithOffsets THEN {}
  ELSE {[requireStable |-> b] : b \in IF FetchesStable THEN BOOLEAN ELSE {FALSE}}

------------------------------------------------------------------------------
(* What some requests do                                                       *)

\* Not (Empty and something offered, or the same type and a protocol all support). GM:442
Inconsistent(g, r) ==
  IF ~ChecksFirstOffer /\ DOMAIN g.members = {} THEN FALSE
  ELSE IF g.state = "Empty" THEN r.protocols = <<>>
  ELSE \/ g.protocolType # "consumer"
       \/ ~\E i \in DOMAIN r.protocols : SupportedByAll(g.members, r.protocols[i].name)

\* An unknown member id brings the group into being, even if it is then refused.
Created(s) ==
  LET g == IF s.group = NoGroup THEN NewGroup ELSE s.group
      type == IF EmptyDies THEN "consumer" ELSE Null
  IN IF Gone(s.group) THEN [s EXCEPT !.group = [g EXCEPT !.state = Begins, !.protocolType = type]]
     ELSE s

Inconsistency(s, memberId) ==
  Answer(s, Refusal("INCONSISTENT_GROUP_PROTOCOL", memberId))

GiveId(s, n) ==
  Answer([s EXCEPT !.group.pending = With(@, n, SessionTicks)],
         JoinAnswer(This, "MEMBER_ID_REQUIRED", n))

Unchanged(g, r) == g.members[r.memberId].protocols = r.protocols

Rejoin(s, r) == MaybePrepareRebalance(ParkJoin(s, r.memberId, r.protocols))

Joined(steps) ==
  UNION {IF s.group.state = "PreparingRebalance" THEN CheckJoinComplete(s) ELSE {s} : s \in steps}

Rearmed(s, n) == [s EXCEPT !.group.members[n] = RearmSession(@)]

ParkSync(s, n) ==  \* GC:408
  [s EXCEPT !.group.members[n].awaitingSync = TRUE, !.group.members[n].sessionLeft = Stopped]

RECURSIVE LeaveFrom(_, _, _, _)
LeaveFrom(s, names, errors, i) ==  \* each leaves before the next is looked at. GC:471
  LET rest(t, error) == LeaveFrom(t, names, Append(errors, error), i + 1)
      n == names[i]
  IN IF i > Len(names)
     THEN {Answer(s, [to |-> This, error |-> "NONE", errors |-> errors])}
     ELSE IF n \in DOMAIN s.group.pending THEN UNION {rest(t, "NONE") : t \in RemovePending(s, n)}
     ELSE IF n \in DOMAIN s.group.members THEN UNION {rest(t, "NONE") : t \in RemoveMember(s, n)}
     ELSE rest(s, "UNKNOWN_MEMBER_ID")

LeaveAnswer(r, error, each) ==
  [to |-> This, error |-> error,
   errors |-> IF each = "" THEN <<>> ELSE [i \in DOMAIN r.memberIds |-> each]]

\* fetch/no-group GMM:492, fetch/unstable GMM:510, fetch/committed GMM:514
Fetched(s, r) ==
  LET unstable == s.group # NoGroup /\ r.requireStable /\ s.group.unstable # 0
  IN Answer(s, [to |-> This, error |-> IF unstable THEN "UNSTABLE_OFFSET_COMMIT" ELSE "NONE",
                offset |-> IF s.group = NoGroup \/ unstable THEN NoOffset ELSE s.group.offset])

NotDescribed(error) ==
  [to |-> This, error |-> error, state |-> "", protocolType |-> "", protocolName |-> "",
   metadata |-> NoEntries, assignments |-> NoEntries]

\* describe/no-group GC:825, describe/stable GM:561, describe/unstable GM:568
Described(s) ==
  LET g == s.group
      shown == [NotDescribed("NONE") EXCEPT !.state = "Dead"]
  IN Answer(s,
       IF Gone(g) THEN shown
       ELSE [shown EXCEPT
               !.state = IF g.state = "CompletingRebalance" THEN CompletingName ELSE g.state,
               !.protocolType = IF g.protocolType = Null THEN "" ELSE g.protocolType,
               !.protocolName = IF g.state = "Stable" THEN g.protocolName ELSE "",
               !.metadata = [n \in DOMAIN g.members |->
                 IF g.state = "Stable" THEN MetadataOf(g.members[n], g.protocolName) ELSE ""],
               !.assignments = [n \in DOMAIN g.members |->
                 IF g.state = "Stable" THEN g.members[n].assignment ELSE ""]])

------------------------------------------------------------------------------
(*--algorithm ConsumerGroup

variables
  group   = NoGroup,
  holding = FALSE,  \* whether appends to the log stay incomplete
  appends = <<>>,   \* those that do
  serving = "served",  \* the partition; or "loading", or "unloaded"
  active  = TRUE,   \* not shut down
  failing = Fine,   \* the error of the next append
  log     = NoLog,  \* if it is kept
  answers = {};     \* what the last step answered

define
  \* What is told apart by the instances that do not look at the answers.
  State == <<group, holding, appends, serving, active, failing, log>>
  Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
            active |-> active, failing |-> failing, log |-> log, answers |-> {}]

  \* The gate before each API: what it refuses with, "" if it is open. GC:856
  Gate(said) == IF ~active THEN "COORDINATOR_NOT_AVAILABLE"  \* not-active GC:859
                ELSE IF serving = "loading" /\ ~Old THEN said  \* loading GC:861
                ELSE IF serving # "served" THEN "NOT_COORDINATOR"  \* not-coordinator GC:863
                ELSE ""
  Refused == Gate("COORDINATOR_LOAD_IN_PROGRESS")
end define

\* The step ends in one of the ways it may.
macro Finish(steps, ticks) begin
  with t \in Ends(steps, ticks) do
    group   := t.group;
    holding := t.holding;
    appends := t.appends;
    serving := t.serving;
    active  := t.active;
    failing := t.failing;
    log     := t.log;
    answers := t.answers;
  end with;
end macro

macro Reply(answer) begin
  Finish({Answer(Begin, answer)}, 0);
end macro

process JoinGroup = "JoinGroup"
begin join_group:  \* GC:156
  while TRUE do
    with r \in JoinGroupRequests(group, log), g = Created(Begin).group, s = Created(Begin) do
      if Old /\ ~active then                                    \* before the id: 0.10.2 GC:101
        Reply(Refusal(Refused, r.memberId));
      elsif r.groupId = "" then                                 \* join/invalid-group-id GC:857
        Reply(Refusal("INVALID_GROUP_ID", r.memberId));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(Refusal(Refused, r.memberId));
      elsif r.sessionTicks = 0 then
        \* join/session-timeout-out-of-range GC:172
        Reply(Refusal("INVALID_SESSION_TIMEOUT", r.memberId));
      elsif Gone(group) /\ r.memberId # NoMember then           \* join/no-group GC:180
        Reply(Refusal("UNKNOWN_MEMBER_ID", r.memberId));
      elsif r.memberId = NoMember then
        if Inconsistent(g, r) then                              \* join/new-inconsistent GC:220
          Finish(Joined({Inconsistency(s, NoMember)}), 0);
        elsif r.givesId then                                    \* join/member-id-required GC:227
          Finish(Joined({GiveId(s, n) : n \in Free(g, log)}), 0);
        else                                                    \* join/new-member GC:238
          Finish(Joined(UNION {AddMember(s, n, r.protocols) : n \in Free(g, log)}), 0);
        end if;
      elsif Inconsistent(g, r) then                             \* join/inconsistent GC:262
        Finish(Joined({Inconsistency(s, r.memberId)}), 0);
      elsif r.memberId \in DOMAIN g.pending then                \* join/pending-member GC:264
        Finish(Joined(AddMember(s, r.memberId, r.protocols)), 0);
      elsif r.memberId \notin DOMAIN g.members then             \* join/unknown-member GC:280
        Finish(Joined({Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))}), 0);
      elsif g.state = "PreparingRebalance" then                 \* join/rejoin-preparing GC:289
        Finish(Joined(Rejoin(s, r)), 0);
      elsif g.state = "CompletingRebalance" /\ Unchanged(g, r) then
        \* join/repeated-completing GC:293
        Reply(CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      elsif g.state = "CompletingRebalance" then                \* join/changed-completing GC:311
        Finish(Joined(Rejoin(s, r)), 0);
      elsif g.leader = r.memberId then                          \* join/leader-stable GC:316
        Finish(Joined(Rejoin(s, r)), 0);
      elsif ~Unchanged(g, r) then                               \* join/changed-stable GC:321
        Finish(Joined(Rejoin(s, r)), 0);
      else                                                      \* join/repeated-stable GC:326
        Reply(CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      end if;
    end with;
  end while;
end process

process SyncGroup = "SyncGroup"
begin sync_group:  \* GC:347
  while TRUE do
    with r \in SyncGroupRequests(group) do
      if SyncsByProtocol /\ r.protocolType = Null then
        \* sync/protocol-missing KafkaApis.scala:1585
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif ChecksEveryGroupId /\ r.groupId = "" then           \* sync/invalid-group-id GC:857
        Reply(SyncAnswer(This, "INVALID_GROUP_ID"));
      elsif Gate("REBALANCE_IN_PROGRESS") # "" then             \* gate GC:357
        Reply(SyncAnswer(This, Gate("REBALANCE_IN_PROGRESS")));
      elsif Gone(group) \/ r.groupId = "" then                  \* sync/no-group GC:367
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.memberId \notin DOMAIN group.members then         \* sync/unknown-member GC:391
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                \* sync/other-generation GC:393
        Reply(SyncAnswer(This, "ILLEGAL_GENERATION"));
      elsif r.protocolType \notin {Null, group.protocolType} then
        \* sync/other-protocol-type GC:395
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif r.protocolName \notin {Null, group.protocolName} then
        \* sync/other-protocol-name GC:397
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif group.state = "PreparingRebalance" then             \* sync/preparing GC:404
        Reply(SyncAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif group.state = "CompletingRebalance" /\ group.leader = r.memberId then
        \* sync/leader-completing GC:411
        Finish(StoreAssignments(ParkSync(Begin, r.memberId), r.assignments), 0);
      elsif group.state = "CompletingRebalance" then            \* sync/follower-completing GC:408
        Finish({ParkSync(Begin, r.memberId)}, 0);
      else                                                      \* sync/stable GC:441
        Finish({Answer(Rearmed(Begin, r.memberId),
                       [SyncAnswer(Parked("SyncGroup", r.memberId), "NONE") EXCEPT
                          !.protocolType = group.protocolType, !.protocolName = group.protocolName,
                          !.assignment = group.members[r.memberId].assignment])}, 0);
      end if;
    end with;
  end while;
end process

process Heartbeat = "Heartbeat"
begin heartbeat:  \* GC:607
  while TRUE do
    with r \in HeartbeatRequests(group) do
      if ChecksEveryGroupId /\ r.groupId = "" then
        \* heartbeat/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif Gate("NONE") # "" then                              \* gate GC:615
        Reply(ErrorAnswer(This, Gate("NONE")));
      elsif Gone(group) \/ r.groupId = "" then                  \* heartbeat/no-group GC:622
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif ~AliveInPreparing /\ group.state # "Stable" then
        \* heartbeat/unstable 0.10.0 GC:363
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then         \* heartbeat/unknown-member GC:634
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif group.state = "CompletingRebalance" /\ ~AliveInCompleting then
        \* heartbeat/completing 0.10.2 GC:367
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.generation # group.generation then                \* heartbeat/other-generation GC:636
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "PreparingRebalance" then             \* heartbeat/preparing GC:650
        Finish({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}, 0);
      else                                                      \* heartbeat/alive GC:643
        Finish({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process LeaveGroup = "LeaveGroup"
begin leave_group:  \* GC:454
  while TRUE do
    with r \in LeaveGroupRequests(group) do
      if ChecksEveryGroupId /\ r.groupId = "" then              \* leave/invalid-group-id GC:857
        Reply(LeaveAnswer(r, "INVALID_GROUP_ID", ""));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(LeaveAnswer(r, Refused, ""));
      elsif Gone(group) \/ r.groupId = "" then                  \* leave/no-group GC:462
        Reply(LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID"));
      else                                                      \* leave/batch GC:471
        Finish(LeaveFrom(Begin, r.memberIds, <<>>, 1), 0);
      end if;
    end with;
  end while;
end process

process OffsetCommit = "OffsetCommit"
begin offset_commit:  \* GC:686
  while TRUE do
    with r \in OffsetCommitRequests(group) do
      if r.nothing then
        \* commit/nothing KafkaApis.scala:434
        Reply(ErrorAnswer(This, "NONE"));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(ErrorAnswer(This, Refused));
      elsif Gone(group) /\ r.generation < 0 then                \* commit/simple-no-group GC:697
        Finish(StoreOffsets(OffsetsOnly(Begin), r), 0);
      elsif Gone(group) then                                    \* commit/no-group GC:701
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "Empty" /\ r.generation < 0 then      \* commit/simple-empty GC:764
        Finish(StoreOffsets(Begin, r), 0);
      elsif CompletingFirst /\ group.state = "CompletingRebalance" then
        \* commit/completing 0.10.2 GC:439
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then         \* commit/unknown-member GC:767
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                \* commit/other-generation GC:769
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "CompletingRebalance" then            \* commit/completing GC:780
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      else                                                      \* commit/member GC:773
        Finish(StoreOffsets(Rearmed(Begin, r.memberId), r), 0);
      end if;
    end with;
  end while;
end process

process OffsetFetch = "OffsetFetch"
begin offset_fetch:  \* GC:794
  while TRUE do
    with r \in OffsetFetchRequests(group) do
      if Refused # "" then                                      \* gate GC:859
        Reply([to |-> This, error |-> Refused, offset |-> NoOffset]);
      else
        Finish({Fetched(Begin, r)}, 0);
      end if;
    end with;
  end while;
end process

process DescribeGroups = "DescribeGroups"
begin describe_groups:  \* GC:820
  while TRUE do
    if Refused # "" then                                        \* gate GC:859
      Reply(NotDescribed(Refused));
    else
      Finish({Described(Begin)}, 0);
    end if;
  end while;
end process

process Advance = "Advance"
begin advance:
  while TRUE do
    if Timed then
      Finish({Begin}, 1);
    else
      await group # NoGroup /\ group.joinTimer.initial;
      Finish({Begin}, group.joinTimer.left);
    end if;
  end while;
end process

process HoldAppends = "HoldAppends"
begin hold_appends:  \* GMM:323
  while TRUE do
    await MaxHeld > 0 /\ ~holding;
    Finish({[Begin EXCEPT !.holding = TRUE]}, 0);
  end while;
end process

process ReleaseAppends = "ReleaseAppends"
begin release_appends:  \* GMM:323
  while TRUE do
    await holding;
    Finish(Released(Begin), 0);
  end while;
end process

process FailAppends = "FailAppends"
begin fail_appends:  \* GMM:276
  while TRUE do
    await Fails /\ failing = Fine;
    with error \in {"NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"} do
      Finish({[Begin EXCEPT !.failing = error]}, 0);
    end with;
  end while;
end process

process Crash = "Crash"
begin crash:  \* GMM:544
  while TRUE do
    await Logged;
    Finish({Crashed(Begin)}, 0);
  end while;
end process

process Unload = "Unload"
begin unload:  \* GMM:752
  while TRUE do
    await Moves /\ active /\ serving # "unloaded";
    Finish({Unloaded(Begin)}, 0);
  end while;
end process

process Loading = "Loading"
begin loading:  \* GMM:533
  while TRUE do
    await Moves /\ active /\ serving # "loading";
    Finish({[Unloaded(Begin) EXCEPT !.serving = "loading"]}, 0);
  end while;
end process

process Load = "Load"
begin load:  \* GMM:558
  while TRUE do
    await Moves /\ active /\ serving # "served";
    Finish({Loaded(Begin)}, 0);
  end while;
end process

process Shutdown = "Shutdown"
begin shutdown:  \* GC:118
  while TRUE do
    await Moves /\ active;
    Finish({[Begin EXCEPT !.active = FALSE]}, 0);
  end while;
end process

end algorithm; *)
\* BEGIN TRANSLATION - the hash of the PCal code: PCal-a78da2d432785f618ec5e13718ee8098
VARIABLES group, holding, appends, serving, active, failing, log, answers

(* define statement *)
State == <<group, holding, appends, serving, active, failing, log>>
Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
          active |-> active, failing |-> failing, log |-> log, answers |-> {}]


Gate(said) == IF ~active THEN "COORDINATOR_NOT_AVAILABLE"
              ELSE IF serving = "loading" /\ ~Old THEN said
              ELSE IF serving # "served" THEN "NOT_COORDINATOR"
              ELSE ""
Refused == Gate("COORDINATOR_LOAD_IN_PROGRESS")


vars == << group, holding, appends, serving, active, failing, log, answers >>

ProcSet == {"JoinGroup"} \cup {"SyncGroup"} \cup {"Heartbeat"} \cup {"LeaveGroup"} \cup {"OffsetCommit"} \cup {"OffsetFetch"} \cup {"DescribeGroups"} \cup {"Advance"} \cup {"HoldAppends"} \cup {"ReleaseAppends"} \cup {"FailAppends"} \cup {"Crash"} \cup {"Unload"} \cup {"Loading"} \cup {"Load"} \cup {"Shutdown"}

Init == (* Global variables *)
        /\ group = NoGroup
        /\ holding = FALSE
        /\ appends = <<>>
        /\ serving = "served"
        /\ active = TRUE
        /\ failing = Fine
        /\ log = NoLog
        /\ answers = {}

JoinGroup == \E r \in JoinGroupRequests(group, log):
               LET g == Created(Begin).group IN
                 LET s == Created(Begin) IN
                   IF Old /\ ~active
                      THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, r.memberId)))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ answers' = t.answers
                      ELSE /\ IF r.groupId = ""
                                 THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("INVALID_GROUP_ID", r.memberId)))}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ answers' = t.answers
                                 ELSE /\ IF Refused # ""
                                            THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, r.memberId)))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ answers' = t.answers
                                            ELSE /\ IF r.sessionTicks = 0
                                                       THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("INVALID_SESSION_TIMEOUT", r.memberId)))}), 0):
                                                                 /\ group' = t.group
                                                                 /\ holding' = t.holding
                                                                 /\ appends' = t.appends
                                                                 /\ serving' = t.serving
                                                                 /\ active' = t.active
                                                                 /\ failing' = t.failing
                                                                 /\ log' = t.log
                                                                 /\ answers' = t.answers
                                                       ELSE /\ IF Gone(group) /\ r.memberId # NoMember
                                                                  THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("UNKNOWN_MEMBER_ID", r.memberId)))}), 0):
                                                                            /\ group' = t.group
                                                                            /\ holding' = t.holding
                                                                            /\ appends' = t.appends
                                                                            /\ serving' = t.serving
                                                                            /\ active' = t.active
                                                                            /\ failing' = t.failing
                                                                            /\ log' = t.log
                                                                            /\ answers' = t.answers
                                                                  ELSE /\ IF r.memberId = NoMember
                                                                             THEN /\ IF Inconsistent(g, r)
                                                                                        THEN /\ \E t \in Ends((Joined({Inconsistency(s, NoMember)})), 0):
                                                                                                  /\ group' = t.group
                                                                                                  /\ holding' = t.holding
                                                                                                  /\ appends' = t.appends
                                                                                                  /\ serving' = t.serving
                                                                                                  /\ active' = t.active
                                                                                                  /\ failing' = t.failing
                                                                                                  /\ log' = t.log
                                                                                                  /\ answers' = t.answers
                                                                                        ELSE /\ IF r.givesId
                                                                                                   THEN /\ \E t \in Ends((Joined({GiveId(s, n) : n \in Free(g, log)})), 0):
                                                                                                             /\ group' = t.group
                                                                                                             /\ holding' = t.holding
                                                                                                             /\ appends' = t.appends
                                                                                                             /\ serving' = t.serving
                                                                                                             /\ active' = t.active
                                                                                                             /\ failing' = t.failing
                                                                                                             /\ log' = t.log
                                                                                                             /\ answers' = t.answers
                                                                                                   ELSE /\ \E t \in Ends((Joined(UNION {AddMember(s, n, r.protocols) : n \in Free(g, log)})), 0):
                                                                                                             /\ group' = t.group
                                                                                                             /\ holding' = t.holding
                                                                                                             /\ appends' = t.appends
                                                                                                             /\ serving' = t.serving
                                                                                                             /\ active' = t.active
                                                                                                             /\ failing' = t.failing
                                                                                                             /\ log' = t.log
                                                                                                             /\ answers' = t.answers
                                                                             ELSE /\ IF Inconsistent(g, r)
                                                                                        THEN /\ \E t \in Ends((Joined({Inconsistency(s, r.memberId)})), 0):
                                                                                                  /\ group' = t.group
                                                                                                  /\ holding' = t.holding
                                                                                                  /\ appends' = t.appends
                                                                                                  /\ serving' = t.serving
                                                                                                  /\ active' = t.active
                                                                                                  /\ failing' = t.failing
                                                                                                  /\ log' = t.log
                                                                                                  /\ answers' = t.answers
                                                                                        ELSE /\ IF r.memberId \in DOMAIN g.pending
                                                                                                   THEN /\ \E t \in Ends((Joined(AddMember(s, r.memberId, r.protocols))), 0):
                                                                                                             /\ group' = t.group
                                                                                                             /\ holding' = t.holding
                                                                                                             /\ appends' = t.appends
                                                                                                             /\ serving' = t.serving
                                                                                                             /\ active' = t.active
                                                                                                             /\ failing' = t.failing
                                                                                                             /\ log' = t.log
                                                                                                             /\ answers' = t.answers
                                                                                                   ELSE /\ IF r.memberId \notin DOMAIN g.members
                                                                                                              THEN /\ \E t \in Ends((Joined({Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))})), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ answers' = t.answers
                                                                                                              ELSE /\ IF g.state = "PreparingRebalance"
                                                                                                                         THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ answers' = t.answers
                                                                                                                         ELSE /\ IF g.state = "CompletingRebalance" /\ Unchanged(g, r)
                                                                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                    ELSE /\ IF g.state = "CompletingRebalance"
                                                                                                                                               THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                         /\ group' = t.group
                                                                                                                                                         /\ holding' = t.holding
                                                                                                                                                         /\ appends' = t.appends
                                                                                                                                                         /\ serving' = t.serving
                                                                                                                                                         /\ active' = t.active
                                                                                                                                                         /\ failing' = t.failing
                                                                                                                                                         /\ log' = t.log
                                                                                                                                                         /\ answers' = t.answers
                                                                                                                                               ELSE /\ IF g.leader = r.memberId
                                                                                                                                                          THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                    /\ group' = t.group
                                                                                                                                                                    /\ holding' = t.holding
                                                                                                                                                                    /\ appends' = t.appends
                                                                                                                                                                    /\ serving' = t.serving
                                                                                                                                                                    /\ active' = t.active
                                                                                                                                                                    /\ failing' = t.failing
                                                                                                                                                                    /\ log' = t.log
                                                                                                                                                                    /\ answers' = t.answers
                                                                                                                                                          ELSE /\ IF ~Unchanged(g, r)
                                                                                                                                                                     THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                               /\ group' = t.group
                                                                                                                                                                               /\ holding' = t.holding
                                                                                                                                                                               /\ appends' = t.appends
                                                                                                                                                                               /\ serving' = t.serving
                                                                                                                                                                               /\ active' = t.active
                                                                                                                                                                               /\ failing' = t.failing
                                                                                                                                                                               /\ log' = t.log
                                                                                                                                                                               /\ answers' = t.answers
                                                                                                                                                                     ELSE /\ \E t \in Ends(({Answer(Begin, (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                               /\ group' = t.group
                                                                                                                                                                               /\ holding' = t.holding
                                                                                                                                                                               /\ appends' = t.appends
                                                                                                                                                                               /\ serving' = t.serving
                                                                                                                                                                               /\ active' = t.active
                                                                                                                                                                               /\ failing' = t.failing
                                                                                                                                                                               /\ log' = t.log
                                                                                                                                                                               /\ answers' = t.answers

SyncGroup == \E r \in SyncGroupRequests(group):
               IF SyncsByProtocol /\ r.protocolType = Null
                  THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ answers' = t.answers
                  ELSE /\ IF ChecksEveryGroupId /\ r.groupId = ""
                             THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ answers' = t.answers
                             ELSE /\ IF Gate("REBALANCE_IN_PROGRESS") # ""
                                        THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, Gate("REBALANCE_IN_PROGRESS"))))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ answers' = t.answers
                                        ELSE /\ IF Gone(group) \/ r.groupId = ""
                                                   THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ answers' = t.answers
                                                   ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                              THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ answers' = t.answers
                                                              ELSE /\ IF r.generation # group.generation
                                                                         THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ answers' = t.answers
                                                                         ELSE /\ IF r.protocolType \notin {Null, group.protocolType}
                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ answers' = t.answers
                                                                                    ELSE /\ IF r.protocolName \notin {Null, group.protocolName}
                                                                                               THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ answers' = t.answers
                                                                                               ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                          THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ answers' = t.answers
                                                                                                          ELSE /\ IF group.state = "CompletingRebalance" /\ group.leader = r.memberId
                                                                                                                     THEN /\ \E t \in Ends((StoreAssignments(ParkSync(Begin, r.memberId), r.assignments)), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ answers' = t.answers
                                                                                                                     ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                                THEN /\ \E t \in Ends(({ParkSync(Begin, r.memberId)}), 0):
                                                                                                                                          /\ group' = t.group
                                                                                                                                          /\ holding' = t.holding
                                                                                                                                          /\ appends' = t.appends
                                                                                                                                          /\ serving' = t.serving
                                                                                                                                          /\ active' = t.active
                                                                                                                                          /\ failing' = t.failing
                                                                                                                                          /\ log' = t.log
                                                                                                                                          /\ answers' = t.answers
                                                                                                                                ELSE /\ \E t \in Ends(({Answer(Rearmed(Begin, r.memberId),
                                                                                                                                                               [SyncAnswer(Parked("SyncGroup", r.memberId), "NONE") EXCEPT
                                                                                                                                                                  !.protocolType = group.protocolType, !.protocolName = group.protocolName,
                                                                                                                                                                  !.assignment = group.members[r.memberId].assignment])}), 0):
                                                                                                                                          /\ group' = t.group
                                                                                                                                          /\ holding' = t.holding
                                                                                                                                          /\ appends' = t.appends
                                                                                                                                          /\ serving' = t.serving
                                                                                                                                          /\ active' = t.active
                                                                                                                                          /\ failing' = t.failing
                                                                                                                                          /\ log' = t.log
                                                                                                                                          /\ answers' = t.answers

Heartbeat == \E r \in HeartbeatRequests(group):
               IF ChecksEveryGroupId /\ r.groupId = ""
                  THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ answers' = t.answers
                  ELSE /\ IF Gate("NONE") # ""
                             THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Gate("NONE"))))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ answers' = t.answers
                             ELSE /\ IF Gone(group) \/ r.groupId = ""
                                        THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ answers' = t.answers
                                        ELSE /\ IF ~AliveInPreparing /\ group.state # "Stable"
                                                   THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ answers' = t.answers
                                                   ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                              THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ answers' = t.answers
                                                              ELSE /\ IF group.state = "CompletingRebalance" /\ ~AliveInCompleting
                                                                         THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ answers' = t.answers
                                                                         ELSE /\ IF r.generation # group.generation
                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ answers' = t.answers
                                                                                    ELSE /\ IF group.state = "PreparingRebalance"
                                                                                               THEN /\ \E t \in Ends(({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ answers' = t.answers
                                                                                               ELSE /\ \E t \in Ends(({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "NONE"))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ answers' = t.answers

LeaveGroup == \E r \in LeaveGroupRequests(group):
                IF ChecksEveryGroupId /\ r.groupId = ""
                   THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, "INVALID_GROUP_ID", "")))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ answers' = t.answers
                   ELSE /\ IF Refused # ""
                              THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, Refused, "")))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ answers' = t.answers
                              ELSE /\ IF Gone(group) \/ r.groupId = ""
                                         THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID")))}), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ answers' = t.answers
                                         ELSE /\ \E t \in Ends((LeaveFrom(Begin, r.memberIds, <<>>, 1)), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ answers' = t.answers

OffsetCommit == \E r \in OffsetCommitRequests(group):
                  IF r.nothing
                     THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "NONE")))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers
                     ELSE /\ IF Refused # ""
                                THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Refused)))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ answers' = t.answers
                                ELSE /\ IF Gone(group) /\ r.generation < 0
                                           THEN /\ \E t \in Ends((StoreOffsets(OffsetsOnly(Begin), r)), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ answers' = t.answers
                                           ELSE /\ IF Gone(group)
                                                      THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ answers' = t.answers
                                                      ELSE /\ IF group.state = "Empty" /\ r.generation < 0
                                                                 THEN /\ \E t \in Ends((StoreOffsets(Begin, r)), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ answers' = t.answers
                                                                 ELSE /\ IF CompletingFirst /\ group.state = "CompletingRebalance"
                                                                            THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ answers' = t.answers
                                                                            ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                       THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                 /\ group' = t.group
                                                                                                 /\ holding' = t.holding
                                                                                                 /\ appends' = t.appends
                                                                                                 /\ serving' = t.serving
                                                                                                 /\ active' = t.active
                                                                                                 /\ failing' = t.failing
                                                                                                 /\ log' = t.log
                                                                                                 /\ answers' = t.answers
                                                                                       ELSE /\ IF r.generation # group.generation
                                                                                                  THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                            /\ group' = t.group
                                                                                                            /\ holding' = t.holding
                                                                                                            /\ appends' = t.appends
                                                                                                            /\ serving' = t.serving
                                                                                                            /\ active' = t.active
                                                                                                            /\ failing' = t.failing
                                                                                                            /\ log' = t.log
                                                                                                            /\ answers' = t.answers
                                                                                                  ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                             THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                       /\ group' = t.group
                                                                                                                       /\ holding' = t.holding
                                                                                                                       /\ appends' = t.appends
                                                                                                                       /\ serving' = t.serving
                                                                                                                       /\ active' = t.active
                                                                                                                       /\ failing' = t.failing
                                                                                                                       /\ log' = t.log
                                                                                                                       /\ answers' = t.answers
                                                                                                             ELSE /\ \E t \in Ends((StoreOffsets(Rearmed(Begin, r.memberId), r)), 0):
                                                                                                                       /\ group' = t.group
                                                                                                                       /\ holding' = t.holding
                                                                                                                       /\ appends' = t.appends
                                                                                                                       /\ serving' = t.serving
                                                                                                                       /\ active' = t.active
                                                                                                                       /\ failing' = t.failing
                                                                                                                       /\ log' = t.log
                                                                                                                       /\ answers' = t.answers

OffsetFetch == \E r \in OffsetFetchRequests(group):
                 IF Refused # ""
                    THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> Refused, offset |-> NoOffset]))}), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ answers' = t.answers
                    ELSE /\ \E t \in Ends(({Fetched(Begin, r)}), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ answers' = t.answers

DescribeGroups == IF Refused # ""
                     THEN /\ \E t \in Ends(({Answer(Begin, (NotDescribed(Refused)))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers
                     ELSE /\ \E t \in Ends(({Described(Begin)}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers

Advance == IF Timed
              THEN /\ \E t \in Ends(({Begin}), 1):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ answers' = t.answers
              ELSE /\ group # NoGroup /\ group.joinTimer.initial
                   /\ \E t \in Ends(({Begin}), (group.joinTimer.left)):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ answers' = t.answers

HoldAppends == /\ MaxHeld > 0 /\ ~holding
               /\ \E t \in Ends(({[Begin EXCEPT !.holding = TRUE]}), 0):
                    /\ group' = t.group
                    /\ holding' = t.holding
                    /\ appends' = t.appends
                    /\ serving' = t.serving
                    /\ active' = t.active
                    /\ failing' = t.failing
                    /\ log' = t.log
                    /\ answers' = t.answers

ReleaseAppends == /\ holding
                  /\ \E t \in Ends((Released(Begin)), 0):
                       /\ group' = t.group
                       /\ holding' = t.holding
                       /\ appends' = t.appends
                       /\ serving' = t.serving
                       /\ active' = t.active
                       /\ failing' = t.failing
                       /\ log' = t.log
                       /\ answers' = t.answers

FailAppends == /\ Fails /\ failing = Fine
               /\ \E error \in {"NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"}:
                    \E t \in Ends(({[Begin EXCEPT !.failing = error]}), 0):
                      /\ group' = t.group
                      /\ holding' = t.holding
                      /\ appends' = t.appends
                      /\ serving' = t.serving
                      /\ active' = t.active
                      /\ failing' = t.failing
                      /\ log' = t.log
                      /\ answers' = t.answers

Crash == /\ Logged
         /\ \E t \in Ends(({Crashed(Begin)}), 0):
              /\ group' = t.group
              /\ holding' = t.holding
              /\ appends' = t.appends
              /\ serving' = t.serving
              /\ active' = t.active
              /\ failing' = t.failing
              /\ log' = t.log
              /\ answers' = t.answers

Unload == /\ Moves /\ active /\ serving # "unloaded"
          /\ \E t \in Ends(({Unloaded(Begin)}), 0):
               /\ group' = t.group
               /\ holding' = t.holding
               /\ appends' = t.appends
               /\ serving' = t.serving
               /\ active' = t.active
               /\ failing' = t.failing
               /\ log' = t.log
               /\ answers' = t.answers

Loading == /\ Moves /\ active /\ serving # "loading"
           /\ \E t \in Ends(({[Unloaded(Begin) EXCEPT !.serving = "loading"]}), 0):
                /\ group' = t.group
                /\ holding' = t.holding
                /\ appends' = t.appends
                /\ serving' = t.serving
                /\ active' = t.active
                /\ failing' = t.failing
                /\ log' = t.log
                /\ answers' = t.answers

Load == /\ Moves /\ active /\ serving # "served"
        /\ \E t \in Ends(({Loaded(Begin)}), 0):
             /\ group' = t.group
             /\ holding' = t.holding
             /\ appends' = t.appends
             /\ serving' = t.serving
             /\ active' = t.active
             /\ failing' = t.failing
             /\ log' = t.log
             /\ answers' = t.answers

Shutdown == /\ Moves /\ active
            /\ \E t \in Ends(({[Begin EXCEPT !.active = FALSE]}), 0):
                 /\ group' = t.group
                 /\ holding' = t.holding
                 /\ appends' = t.appends
                 /\ serving' = t.serving
                 /\ active' = t.active
                 /\ failing' = t.failing
                 /\ log' = t.log
                 /\ answers' = t.answers

Next == JoinGroup \/ SyncGroup \/ Heartbeat \/ LeaveGroup \/ OffsetCommit
           \/ OffsetFetch \/ DescribeGroups \/ Advance \/ HoldAppends
           \/ ReleaseAppends \/ FailAppends \/ Crash \/ Unload \/ Loading \/ Load
           \/ Shutdown

Spec == Init /\ [][Next]_vars

\* END TRANSLATION - the hash of the generated TLA code (remove to silence divergence warnings): TLA-401f93d6a91cf92029d1975f3a55faa6
=============================================================================
