------------------------------- MODULE Clients -------------------------------
(* The requests that clients send, feature by feature.                        *)
EXTENDS State

CurrentGenerationId(g) == IF g = NoGroup THEN 0 ELSE g.generation
ChosenProtocol(g)  == IF g = NoGroup \/ g.protocolName = Null THEN "range" ELSE g.protocolName
Orders(S)  == {q \in [1..Cardinality(S) -> S] : \A n \in S : \E i \in DOMAIN q : q[i] = n}

JoinGroupRequests(g, l) ==
  LET join(n) == [groupId |-> GroupId, givesId |-> GivesIdsFirst, memberId |-> n,
                  instance |-> NoInstance, skips |-> SkipsAssignment, sessionTicks |-> SessionTicks,
                  protocolType |-> "consumer", protocols |-> Offers[1]]
      newcomer(skips) == [join(NoMember) EXCEPT !.instance = Instance, !.skips = skips]
      static == IF FreeNames(g, l) = {} /\ StaticId(g) = NoMember THEN {}
                ELSE {newcomer(skips) : skips \in {FALSE, SkipsAssignment}}
  IN {join(n) : n \in KnownIds(g) \cup Pending(g) \cup {UnknownId}}
     \cup {[join(n) EXCEPT !.protocolType = "connect"]
             : n \in IF Administered THEN Pending(g) ELSE {}}
     \cup {[join(n) EXCEPT !.protocols = Offers[i]] : n \in KnownIds(g), i \in DOMAIN Offers}
     \cup {[join(n) EXCEPT !.protocols = <<>>] : n \in KnownIds(g) \cup {NoMember}}
     \cup (IF "max-size" \in Features THEN static ELSE {})
     \cup (IF "static-members" \notin Features THEN {}
           ELSE static \cup {[r EXCEPT !.protocols = OtherOffer] : r \in static}
                \cup {[join(n) EXCEPT !.instance = Instance]
                        : n \in KnownIds(g) \cup Pending(g) \cup {UnknownId}})
     \cup (IF FreeNames(g, l) = {} THEN {}
           ELSE {join(NoMember), [join(NoMember) EXCEPT !.givesId = FALSE]})
     \cup (IF g # NoGroup THEN {}
           ELSE {[join(NoMember) EXCEPT !.groupId = ""],
                 [join(NoMember) EXCEPT !.sessionTicks = 0]})

SyncGroupRequests(g) ==
  LET sync(n) == [groupId |-> GroupId, generation |-> CurrentGenerationId(g), memberId |-> n,
                  protocolType |-> IF SyncsByProtocol THEN "consumer" ELSE Null,
                  protocolName |-> IF SyncsByProtocol THEN ChosenProtocol(g) ELSE Null,
                  instance |-> NoInstance, assignments |-> NoEntries]
      everybody == [n \in Members(g) |-> "part"]
  IN {[sync(n) EXCEPT !.assignments = IF g # NoGroup /\ n = g.leader THEN everybody ELSE @]
        : n \in KnownIds(g) \cup {UnknownId}}
     \cup {[sync(n) EXCEPT !.generation = @ - 1] : n \in KnownIds(g)}
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {[sync(n) EXCEPT !.instance = Instance, !.protocolName = "range"]
                  : n \in KnownIds(g) \cup {UnknownId}})
     \cup (IF ~SyncsByProtocol THEN {sync(n) : n \in KnownIds(g)}  \* a leader without assignments
           ELSE UNION {{[sync(n) EXCEPT !.protocolType = "connect"],
                        [sync(n) EXCEPT !.protocolName = "roundrobin"]} : n \in KnownIds(g)})
     \cup (IF g # NoGroup THEN {}
           ELSE {[sync(UnknownId) EXCEPT !.groupId = ""],
                 [sync(UnknownId) EXCEPT !.protocolType = Null, !.protocolName = Null]})

HeartbeatRequests(g) ==
  LET heartbeat(n) == [groupId |-> GroupId, generation |-> CurrentGenerationId(g), memberId |-> n,
                       instance |-> NoInstance]
  IN {heartbeat(n) : n \in KnownIds(g) \cup {UnknownId}}
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {[heartbeat(n) EXCEPT !.instance = Instance] : n \in KnownIds(g) \cup {UnknownId}})
     \cup {[heartbeat(n) EXCEPT !.generation = @ - 1] : n \in KnownIds(g)}
     \cup (IF g # NoGroup THEN {} ELSE {[heartbeat(UnknownId) EXCEPT !.groupId = ""]})

LeaveGroupRequests(g) ==
  LET leave(names) == [groupId |-> GroupId,
                       members |-> [k \in DOMAIN names |->
                         [memberId |-> names[k], instance |-> NoInstance]]]
      leaveAs(n, i) == [leave(<<n>>) EXCEPT !.members[1].instance = i]
  IN {leave(<<n>>) : n \in KnownIds(g) \cup Pending(g) \cup {UnknownId}}
     \cup (IF ~LeavesInBatches \/ Cardinality(KnownIds(g)) < 2 THEN {}
           ELSE {leave(names) : names \in Orders(KnownIds(g))})
     \cup (IF "max-size" \in Features THEN {leaveAs(NoMember, Instance)} ELSE {})
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {leaveAs(n, i) : n \in KnownIds(g) \cup Pending(g) \cup {UnknownId, NoMember},
                                 i \in {Instance, UnknownInstance}})
     \cup (IF g # NoGroup THEN {} ELSE {[leave(<<UnknownId>>) EXCEPT !.groupId = ""]})

OffsetCommitRequests(g) ==
  LET commit(n, generation) == [generation |-> generation, memberId |-> n, instance |-> NoInstance,
                                tooLong |-> FALSE, noPartitions |-> FALSE, retention |-> Stopped,
                                age |-> 0]
  IN (IF ~Transacted /\ ~Administered /\ ~Expires THEN {}
      ELSE {commit(n, CurrentGenerationId(g)) : n \in KnownIds(g)} \cup {commit(NoMember, -1)})
     \cup (IF Expires THEN {[commit(NoMember, -1) EXCEPT !.retention = 1]} ELSE {})
     \cup (IF Expires /\ ReadsCommitTime
           THEN {[commit(NoMember, -1) EXCEPT !.age = 1]} ELSE {})
     \cup (IF RefusedStayUnstable
           THEN {[commit(NoMember, -1) EXCEPT !.tooLong = TRUE]} ELSE {})
     \cup (IF ~Administered \/ ~HidesUnpersisted \/ g # NoGroup THEN {}
           ELSE {[commit(NoMember, -1) EXCEPT !.tooLong = TRUE]})
     \cup (IF ~WithOffsets THEN {}
      ELSE {commit(n, CurrentGenerationId(g)) : n \in KnownIds(g) \cup {UnknownId}}
           \cup {commit(n, CurrentGenerationId(g) - 1) : n \in KnownIds(g)}
           \cup {commit(NoMember, -1), [commit(NoMember, -1) EXCEPT !.tooLong = TRUE]})
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {[commit(n, CurrentGenerationId(g) + 1) EXCEPT !.instance = Instance]
                  : n \in KnownIds(g) \cup {UnknownId}})
     \cup (IF g # NoGroup THEN {} ELSE {[commit(UnknownId, 0) EXCEPT !.noPartitions = TRUE]})

OffsetFetchRequests(g) ==
  LET stable == FetchesStable /\ (WithOffsets \/ Transacted)
  IN IF ~WithOffsets /\ ~Transacted /\ ~Administered /\ ~Expires THEN {}
     ELSE {[requireStable |-> b] : b \in IF stable THEN BOOLEAN ELSE {FALSE}}

TxnOffsetCommitRequests(g) ==
  LET commit(n, generation) == [groupId |-> GroupId, generation |-> generation, memberId |-> n,
                                instance |-> NoInstance, tooLong |-> FALSE, noPartitions |-> FALSE,
                                retention |-> Stopped, age |-> 0]
  IN (IF "static-members" \notin Features \/ ~CommitsInTransactions THEN {}
      ELSE {[commit(n, CurrentGenerationId(g) + 1) EXCEPT !.instance = Instance]
             : n \in KnownIds(g) \cup {UnknownId}})
     \cup (IF ~Transacted THEN {}
           ELSE {commit(n, CurrentGenerationId(g)) : n \in KnownIds(g) \cup {UnknownId, NoMember}}
                \cup {commit(n, CurrentGenerationId(g) - 1) : n \in KnownIds(g)}
                \cup {commit(n, -1) : n \in KnownIds(g) \cup {NoMember}}
                \cup (IF g # NoGroup THEN {}
                      ELSE {[commit(NoMember, -1) EXCEPT !.tooLong = TRUE],
                            [commit(NoMember, -1) EXCEPT !.noPartitions = TRUE],
                            [commit(NoMember, 0) EXCEPT !.groupId = ""]}))

\* No marker is written while the append of a TxnOffsetCommit is not complete.
EndTxnRequests(s) ==
  LET marker(committed) == [groupId |-> GroupId, committed |-> committed]
  IN IF ~Transacted THEN {}
     ELSE (IF \E i \in DOMAIN s.appends : s.appends[i].kind = "transaction" THEN {}
           ELSE {marker(b) : b \in BOOLEAN})
          \cup (IF s.group # NoGroup THEN {} ELSE {[marker(TRUE) EXCEPT !.groupId = ""]})

\* A filter that is Null is not set.
ListGroupsRequests ==
  IF ~Administered THEN {}
  ELSE {[filter |-> Null, type |-> Null]}
       \cup (IF ~FiltersStates THEN {}
             ELSE {[filter |-> state, type |-> Null] : state \in {"Empty", "empty"}})
       \cup (IF FiltersTypes THEN {[filter |-> Null, type |-> "consumer"]} ELSE {})

OffsetDeleteRequests(g) ==
  IF ~Administered \/ ~DeletesOffsets THEN {}
  ELSE {[groupId |-> GroupId, topic |-> topic] : topic \in Topics}
       \cup (IF g # NoGroup THEN {} ELSE {[groupId |-> "", topic |-> "topic"]})

==============================================================================
