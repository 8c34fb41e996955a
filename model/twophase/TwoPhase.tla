------------------------------ MODULE TwoPhase ------------------------------
(***************************************************************************)
(* Two-phase commit. The algorithm, its variables and the names of its     *)
(* actions are those of Leslie Lamport's module TwoPhase ("Consensus on    *)
(* Transaction Commit", Gray and Lamport, 2006); the text is our own.      *)
(* The resource managers RM decide with a transaction manager (TM) whether *)
(* all of them commit or all abort. Messages are never removed from msgs,  *)
(* so that each can be received more than once.                            *)
(***************************************************************************)
CONSTANT RM
VARIABLES rmState, tmState, tmPrepared, msgs

vars == <<rmState, tmState, tmPrepared, msgs>>
Message == [type : {"Prepared"}, rm : RM] \cup [type : {"Commit", "Abort"}]

TypeOK ==
    /\ rmState \in [RM -> {"working", "prepared", "committed", "aborted"}]
    /\ tmState \in {"init", "done"}
    /\ tmPrepared \subseteq RM
    /\ msgs \subseteq Message

Init ==
    /\ rmState = [r \in RM |-> "working"]
    /\ tmState = "init"
    /\ tmPrepared = {}
    /\ msgs = {}
-----------------------------------------------------------------------------
\* Actions of the transaction manager

TMRcvPrepared(r) ==
    /\ tmState = "init"
    /\ [type |-> "Prepared", rm |-> r] \in msgs
    /\ tmPrepared' = tmPrepared \cup {r}
    /\ UNCHANGED <<rmState, tmState, msgs>>

TMCommit ==
    /\ tmState = "init"
    /\ tmPrepared = RM
    /\ tmState' = "done"
    /\ msgs' = msgs \cup {[type |-> "Commit"]}
    /\ UNCHANGED <<rmState, tmPrepared>>

TMAbort ==
    /\ tmState = "init"
    /\ tmState' = "done"
    /\ msgs' = msgs \cup {[type |-> "Abort"]}
    /\ UNCHANGED <<rmState, tmPrepared>>

\* Actions of a resource manager

RMPrepare(r) ==
    /\ rmState[r] = "working"
    /\ rmState' = [rmState EXCEPT ![r] = "prepared"]
    /\ msgs' = msgs \cup {[type |-> "Prepared", rm |-> r]}
    /\ UNCHANGED <<tmState, tmPrepared>>

RMChooseToAbort(r) ==
    /\ rmState[r] = "working"
    /\ rmState' = [rmState EXCEPT ![r] = "aborted"]
    /\ UNCHANGED <<tmState, tmPrepared, msgs>>

RMRcvCommitMsg(r) ==
    /\ [type |-> "Commit"] \in msgs
    /\ rmState' = [rmState EXCEPT ![r] = "committed"]
    /\ UNCHANGED <<tmState, tmPrepared, msgs>>

RMRcvAbortMsg(r) ==
    /\ [type |-> "Abort"] \in msgs
    /\ rmState' = [rmState EXCEPT ![r] = "aborted"]
    /\ UNCHANGED <<tmState, tmPrepared, msgs>>

Next ==
    \/ TMCommit \/ TMAbort
    \/ \E r \in RM :
        \/ TMRcvPrepared(r) \/ RMPrepare(r) \/ RMChooseToAbort(r)
        \/ RMRcvCommitMsg(r) \/ RMRcvAbortMsg(r)

Spec == Init /\ [][Next]_vars /\ \A r \in RM : WF_vars(RMRcvCommitMsg(r))
-----------------------------------------------------------------------------
\* No resource manager aborts if another commits.
TCConsistent == \A r, s \in RM : ~(rmState[r] = "aborted" /\ rmState[s] = "committed")

\* If the transaction manager decides to commit, all resource managers commit.
CommitReachesAll ==
    [type |-> "Commit"] \in msgs ~> \A r \in RM : rmState[r] = "committed"
=============================================================================
