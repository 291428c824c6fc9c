"""English."""

from __future__ import annotations

from typing import Final

from recollect.insights.learnings.extraction.languages.rule import Language, SpokenRule

_LATER: Final = r"(?:tomorrow|later|afterwards|another time|monday|(?:the )?next (?:time|week|session|sprint|release))"
_LEFT_FOR: Final = rf"(?:[,;] (?:(?:i|we)(?:'ve|'ll| have| will)? )?(?:left|leave|do|did)\b[^.]{{0,20}}? ?{_LATER})?"
_DO: Final = (
    r"(?:use|add|put|call|make|mock|keep|leave|let|move|name|rename|remove|return|run|write|set|show|pass|store|read"
    r"|check|create|do|drop|emit|print|raise|replace|send|start|take|try|wrap|accumulate|base|build|change|compute|copy"
    r"|default|define|delete|derive|extend|fetch|format|generate|get|give|go|handle|have|ignore|import|include|inline"
    r"|install|keep|load|log|look|open|parse|pin|pull|push|reuse|revert|save|search|skip|sort|stick|switch|target|test"
    r"|throw|treat|update|validate|commit|ask|answer|reply|explain|work|stay|follow|stop|avoid|prefer|describe|inherit"
    r"|subclass|implement|render|display|apply|only|just)"
)
"""Verbs with which an order on the way of working begins."""
_WHERE: Final = r"(?:(?:in|on|for|when|whenever|with|inside|for all|while) [^,.]{2,60}, )?"
"""A clause that says where or when, before an order."""
_WAYS: Final = (
    r"(?:use|mock|wrap|hard-?code|assume|call|catch|put|rely|import|guess|invent|elide|paginate|swallow|silence"
    r"|suppress"
    r"|duplicate|nest|abbreviate|apologi[sz]e|over-?engineer|log|print|truncate|reformat|reinvent|inline|bother"
    r"|introduce"
    r"|return|raise|throw|replace|remove|delete|mix|depend|default|fall|add|create|write|make)"
)
"""Verbs whose ban says how something is to be done, rather than what is not part of the task."""
_NOT_YET: Final = r"(?!.{0,200}\b(?:yet|for now|right now|at this point|until|anything|any code)\b)"
_WORKING: Final = (
    r"(?:use|run|write|add|ask|check|commit|push|format|test|read|answer|reply|respond|speak|talk|start|keep|put"
    r"|make|sign|squash|rebase|create|include|explain|tell"
    r"|update|document|prefer|avoid|follow|verify|review|lint|build|name|import|delete|edit|touch|modify|change"
    r"|mock|assume|guess|hard-?code|install|merge|deploy|work"
    r"|stage|amend|force|do|log|call|wait|confirm|propose|plan|stop|think|search|look|cite|give|leave|skip|disable"
    r"|remove|rename|mention|apologi[sz]e|translate|begin"
    r"|prefix|quote|open|close|go|let|try|swallow|catch|suppress|ignore|reuse|pin|tag|release|publish|bump)"
)
"""Verbs of working: what is to be done always or never by whoever works, rather than by the product."""
_MEANS: Final = (
    r"(?:use|call|mock|put|run|make|import|return|raise|throw|store|pass|inherit|subclass|base|build|reuse|take|go"
    r"|switch|replace|keep|write|install|do|set|stick|have|catch"
    r"|read|load|parse|log|commit|push|rebase|squash|test|wrap|let)"
)
"""Verbs that name a means; others ("show the price rather than the id") say what the product does."""
_OURS: Final = (
    r"(?:use|commit|push|write|want|prefer|run|put|deploy|name|test|merge|squash|rebase|add|format|keep|release"
    r"|ship|sign"
    r"|pin|mock|review|log|document|branch|tag|import|call|check|leave|start|open|work|build|create|make|do)"
)
_WORK: Final = (
    r"(?:answers?|replies|responses|commits?|commit messages?|messages|code|comments?|explanations?|prs?|pull requests"
    r"|summaries|plans?|diffs?|functions|tests|branches|variable names|names|docstrings|docs|logs)"
)

ENGLISH: Final = Language(
    "en",
    (
        SpokenRule(
            "en.remember",
            "explicit",
            0.85,
            ("remember",),
            r"#?\s?remember(?: this)?(?: for (?:next time|later|the future|future sessions|this project))?"
            r"(?:\s*[:—–]\s*|,? that | - |, (?!that))(?P<said>.{6,})",
        ),
        SpokenRule(
            "en.said_remember",
            "explicit",
            0.8,
            ("remember", "in mind", "forget"),
            r"(?P<said>.{6,260}?)\s*[,;–—-]\s*(?:so |and )?(?:please )?(?:remember (?:this|that|it)|(?:keep|bear)"
            r" (?:this|that|it) in mind|don'?t forget (?:this|that|it))(?: for (?:next time|later|the future))?"
            r"(?:,? please)?[.!]*$",
        ),
        SpokenRule(
            "en.remember_to_later",
            "action",
            0.75,
            ("remember to", "forget to"),
            r"(?:please )?(?:remember|don'?t forget) to (?P<said>(?!be\b)[a-z-]{2,20} .{3,160}?),?"
            rf" (?:for )?{_LATER}[.!]*$",
        ),
        SpokenRule(
            "en.still_to_do",
            "action",
            0.7,
            ("to do:", "to do is ", "open:", "left:", "missing:", "remaining:", "outstanding:", "pending:"),
            r"(?:still (?:left )?(?:to do|open|missing|pending|outstanding)|left to do"
            r"|what'?s (?:still )?left(?: to do)?"
            rf"|remaining|outstanding)(?:\s*[:—–]\s*| is )(?P<said>(?!nothing\b|none\b).{{6,}}?){_LEFT_FOR}[.!]*$",
        ),
        SpokenRule(
            "en.left_for",
            "action",
            0.65,
            ("left the ", "leave the ", "leaving the "),
            r"(?:i|we)(?:'ve|'ll|'m|'re| have| will| am| are)? (?:left|leave|leaving)"
            rf" (?P<said>the .{{6,160}}?) (?:for|until|till) {_LATER}[.!]*$",
        ),
        SpokenRule(
            "en.remember_how",
            "explicit",
            0.8,
            ("remember",),
            r"#?\s?remember,? (?P<said>(?:i|we|the|our|my|this|it|there|always|never|not to|to|only|use|don'?t|do"
            r" not|when"
            r"|whenever|how|which|where|all|tests?|every) .{5,})",
        ),
        SpokenRule(
            "en.remember_this",
            "explicit",
            0.8,
            ("remember", "in mind", "forget", "note", "memori", "memory"),
            r"(?:and )?(?:please )?(?:remember (?:this|that|it)|(?:keep|bear) (?:this|that|it) in mind|don'?t forget"
            r" (?:this|that|it)|(?:note|memori[sz]e) (?:this|that|it)(?: down)?|(?:make|take) (?:a )?note of"
            r" (?:this|that|it)|(?:save|store|put|keep) (?:this|that|it) (?:to|in) (?:your |the )?memory)"
            r"(?: for (?:next time|later|the future|future sessions|this project|the next session))?"
            r"(?:,? (?:please|pls|ok|okay|thanks|too|as well|now))*[.!]*$",
            with_before=True,
        ),
        SpokenRule(
            "en.keep_in_mind",
            "explicit",
            0.75,
            ("in mind", "memory", "memori", "note", "future", "next time", "the record", "forget"),
            r"(?:(?:keep|bear) in mind(?: that\b|:|,)|(?:please )?(?:make a |take )?note(?: for| to) (?:the future"
            r"|self|yourself"
            r"|next time|later|future sessions)(?: that\b)?|for (?:future reference|the future|the record|next time"
            r"|future sessions)\b|(?:make a |take )note(?: of this)?(?: that\b|:)|memori[sz]e (?:that|this)?:?"
            r"|don'?t forget (?:that\b|:)|(?:add|save|put|store|write|commit) (?:this |that |it |the following"
            r" )?(?:to|in|into)"
            r" (?:your |the )?(?:long-term )?memory\b(?: that\b)?)\s*[:,—–-]*\s*(?P<said>.{6,})",
        ),
        SpokenRule(
            "en.from_now_on",
            "rule",
            0.75,
            (
                "from now on",
                "going forward",
                "henceforth",
                "from here on",
                "in future",
                "in the future",
                "from today",
                "as of now",
            ),
            r"(?:from (?:now|here|today) on(?:wards?)?(?: out)?|going forward|henceforth|as of now|in (?:the"
            r" )?future)\s*[:,—–-]*\s*"
            r"(?P<said>(?:please |you (?:should|must|can|will)|always|never|only|all|every|no|any|tests?|commits?|i"
            r" want|i'd like"
            rf"|we|don'?t|do not|let'?s|when|whenever|if|before|after|{_DO})\b.{{4,}})",
        ),
        SpokenRule(
            "en.to_the_future",
            "rule",
            0.7,
            ("from now on", "going forward", "every time", "each time", "in future", "in the future", "next time"),
            rf"(?P<said>(?:always|never|don'?t|do not|no|you should|you must|{_DO})\b.{{4,160}}?)[,;]?"
            r" (?:from now on|going forward|in (?:the )?future|every (?:single )?time|each time|next time)[.!]*$",
        ),
        SpokenRule(
            "en.next_time_how",
            "rule",
            0.65,
            ("next time",),
            r"next time(?: you [^,]{3,60})?,? (?P<said>(?:please |you should |you must |ask|check|use|run|don'?t|do"
            r" not|read|look|make"
            r" sure|tell|wait|start|first|just|try|only) ?.{4,})",
        ),
        SpokenRule(
            "en.always",
            "rule",
            0.7,
            ("always", "never"),
            rf"(?:(?:when|whenever|before|after) (?:you|we|i|committing|pushing|writing|editing|adding|testing"
            rf"|running)\b[^,]{{0,80}}, )?"
            rf"(?:please )?(?:(?:you|claude|codex|agents?) (?:must|should|need to|have to|shall|are to|can) |i want"
            rf" you to |i(?:'d| would)"
            rf" like you to |make sure (?:to |you |that you )|be sure to )?(?:always|never),? (?:ever |first |only"
            rf" )?{_WORKING}\b.{{2,}}",
        ),
        SpokenRule(
            "en.we_always",
            "rule",
            0.65,
            ("always", "never", "only ever", "by convention"),
            rf"(?:in (?:this|our|the) (?:repo(?:sitory)?|project|codebase|team),? )?(?:i|we)(?: \w{{2,12}})?,?"
            rf" (?:always|never|only ever|by"
            rf" convention) {_OURS}\b .{{2,}}",
        ),
        SpokenRule(
            "en.prefer",
            "rule",
            0.7,
            ("prefer",),
            r"(?:(?:i|we) (?:really |strongly |generally |usually |much |always |do )?prefer\b(?! not to (?:say"
            r"|answer))|prefer \S+"
            r"|my (?:strong |personal )?preference is|i(?:'d| would) (?:always|generally|usually) (?:prefer"
            r"|rather)).{4,}",
        ),
        SpokenRule(
            "en.like_my",
            "rule",
            0.65,
            (
                "i like",
                "i want",
                "i need",
                "i hate",
                "don't like",
                "dont like",
                "do not like",
                "dislike",
                "can't stand",
                "i expect",
            ),
            rf"i (?:(?:like|want|need|expect) (?:my |your |all (?:my |your )?|the )?{_WORK}\b|(?:hate|dislike"
            rf"|don'?t like|do not like"
            r"|can'?t stand) (?:it )?(?:when (?:you|agents?|people|code)|your |you |emoji|trailing|unnecessary|long"
            r" |comments)).{3,}",
        ),
        SpokenRule(
            "en.in_this_repo",
            "rule",
            0.7,
            ("in this", "in our", "for this", "convention", "house rule", "our rule", "our style"),
            r"(?:(?:in|for) (?:this|our) (?:repo(?:sitory)?|project|codebase|code base|team|package|monorepo"
            r"|workspace|company)[,:]?\s+"
            rf"(?:we (?:use|don'?t|do not|never|always|only|write|put|keep|name|follow|prefer|run|commit|want)"
            rf"|always|never|please|use"
            rf"|don'?t|do not|only|every \w+ (?:must|should|has to)|all \w+ (?:must|should|have to)|tests? (?:must"
            rf"|should|go|live)|{_DO})\b"
            r"|(?:our|the) (?:convention|house rule|style guide|rule|standard|policy)(?: here| in this (?:repo"
            r"|project|codebase))?"
            r" (?:is|says|here is)\b).{4,}",
        ),
        SpokenRule(
            "en.we_use",
            "rule",
            0.6,
            (
                "we use",
                "we don't use",
                "we do not use",
                "we only",
                "we no longer",
                "we're using",
                "we follow",
                "we stick",
            ),
            r"(?:here,? )?we(?:'re| are)? (?:only |usually |normally |generally |still |don'?t |do not |no longer "
            r"|exclusively )?(?:use|using|follow"
            r"|stick to|stick with)\b.{2,160}(?:,? not\b|instead of|rather than|\bnever\b|\bhere\b|\bin this"
            r" (?:repo|project|codebase)"
            r"|\bfor (?:all|every|our|the|tests|new|this)\b|\beverywhere\b|\bas (?:our|the|a) \w+).{0,120}",
        ),
        SpokenRule(
            "en.use_everywhere",
            "rule",
            0.55,
            ("use ", "put ", "write "),
            r"(?:please )?(?:use|put|write) .{2,80}? (?:everywhere|(?:on|for|in) (?:all|every|each|any) (?!of"
            r" (?:the|these) (?:three|two|four)\b)[\w`.'() -]{3,60})[.!]*$",
        ),
        SpokenRule(
            "en.language",
            "rule",
            0.75,
            (
                "in english",
                "in german",
                "in french",
                "in spanish",
                "in chinese",
                "in japanese",
                "in russian",
                "in portuguese",
            ),
            r"(?:please )?(?:always |only )?(?:answer|reply|respond|speak|talk|write|communicate|comment)(?:"
            r" \w{1,12}){0,3}? (?:only )?in (?:english"
            r"|german|french|spanish|chinese|japanese|russian|portuguese)\b.{0,120}",
        ),
        SpokenRule(
            "en.remind",
            "action",
            0.8,
            ("remind me", "let me forget"),
            r"(?:please )?(?:remind me|don'?t let me forget)(?: (?:later|tomorrow|next time|next week|next session"
            r"|on \w{3,12}|at the end"
            r"|afterwards|in the morning))?(?: to\b| that\b| about\b|:)\s*(?P<said>.{5,})",
        ),
        SpokenRule(
            "en.todo_later",
            "action",
            0.75,
            ("todo", "to-do", "to do", "for later", "later:", "later,"),
            r"(?:(?:put|add) (?:this |that |it |a )?(?:on|to) (?:the |my |our )?|new |one more |another )?(?:todo"
            r"|to-do|to do)(?: list| item)?,?"
            r" (?:for )?(?:later|next time|tomorrow|next week|next session|afterwards|after"
            r" this)\s*[:,—–-]*\s*(?P<said>.{5,})",
        ),
        SpokenRule(
            "en.for_later",
            "action",
            0.7,
            ("later:", "for later", "next session:", "follow-up:", "followup:", "tomorrow:", "next week:"),
            r"(?:(?:for )?later|next session|tomorrow|next week|follow-?up)(?: todo)?\s*[:—–]\s*(?P<said>.{5,})",
        ),
        SpokenRule(
            "en.next_time",
            "action",
            0.65,
            ("next time", "next session", "next week", "tomorrow"),
            r"(?:next (?:time|session|week)|tomorrow),? (?:we|i|let'?s)(?:'ll| will| should| must| need to| have to"
            r"| can| ought to)? "
            r"(?!be\b|are\b|were\b|see\b)(?P<said>[a-z'-]{2,20} .{3,})",
        ),
        SpokenRule(
            "en.we_should_later",
            "action",
            0.6,
            (
                "later",
                "tomorrow",
                "next week",
                "next session",
                "another time",
                "some point",
                "follow-up",
                "followup",
                "next sprint",
            ),
            r"(?:we|i|you|someone)(?:'ll| will|'d better| should| must| need to| have to| still need to| still have"
            r" to| ought to| want to) (?:also |still"
            r" |really )?(?P<said>(?!be\b|see\b|come back\b|(?:do|fix|handle|look at|address|discuss|tackle) (?:it"
            r"|that|this|them)\b)[a-z-]{2,20} .{4,180}?)"
            r",? (?:later(?: on)?|tomorrow|next week|next session|next sprint|another time|some other time|at some"
            r" point|in a (?:separate |later )?"
            r"follow-?up(?: pr)?)[.!]*$",
        ),
        SpokenRule(
            "en.no_but",
            "correction",
            0.7,
            ("no", "nope", "nah", "wrong"),
            r"(?:no|nope|nah|wrong|not quite)(?: no)?\s*[,:;!—–-]+\s*(?:actually,? |please |just |you should |we"
            r" should |instead,? )?"
            rf"(?P<said>(?:don'?t|do not|never|stop|{_DO}|it should|it must|it needs|we (?:use|need|want|don'?t"
            rf"|have)|you (?:should|must|need)"
            r"|i mean(?:t)?|(?:it'?s|it is|that'?s|that is|this is) (?:in|on|at|called|the|a|an|from|under|inside"
            r"|version)\b|(?:the |that |this )?[\w.`-]{2,40}"
            r" (?:should|must|needs to|is supposed to|has to|goes|lives|belongs)|both |all |only )\b.{2,})",
        ),
        SpokenRule(
            "en.refused",
            "correction",
            0.65,
            ("no", "nope", "nah"),
            rf"no\. (?P<said>(?:don'?t|do not|never|stop|{_DO}|it should|it must|we (?:use|need|want|don'?t)|you"
            rf" should|the \S+ should)\b.{{2,}})",
        ),
        SpokenRule(
            "en.stop_doing",
            "correction",
            0.65,
            ("stop ", "quit "),
            r"(?:please |can you |could you )?(?:stop|quit) (?!(?:being|working|running (?:the|it|this)"
            r"|there)\b)[a-z]{2,16}ing\b .{2,}",
        ),
        SpokenRule(
            "en.dont_but",
            "correction",
            0.65,
            ("don't", "dont", "do not", "never"),
            rf"{_WHERE}(?:please |you )?(?:don'?t|do not) {_NOT_YET}(?!worry|forget|need|have|know|think|see"
            rf"|understand|mind|want|like|care|get)[a-z-]{{2,16}}"
            rf"\b[^.]{{2,140}}?(?:[,;:]|\s-|\band|\bbut)\s*(?:please |just |rather |instead,? |only |it should |but"
            rf" |then ){{0,2}}(?:just |rather |instead"
            rf"|only |{_DO}\b).{{2,}}",
        ),
        SpokenRule(
            "en.dont",
            "correction",
            0.55,
            ("don't", "dont", "do not"),
            rf"{_WHERE}(?:please |you )?(?:don'?t|do not) {_NOT_YET}{_WAYS}\b .{{2,160}}",
        ),
        SpokenRule(
            "en.dont_alone",
            "correction",
            0.55,
            ("don't", "dont", "do not"),
            rf"(?:please )?(?:don'?t|do not) {_NOT_YET}(?:modify|change|touch|edit|move|rename|override|rewrite"
            rf"|reformat)\b .{{2,120}}",
            is_alone=True,
        ),
        SpokenRule(
            "en.lets_not",
            "correction",
            0.55,
            ("let's not", "lets not"),
            rf"let'?s not (?!forget|worry|get|go there|do (?:it|that|this) now){_NOT_YET}[a-z]{{2,16}}\b.{{3,}}",
        ),
        SpokenRule(
            "en.skip_do",
            "correction",
            0.55,
            ("skip ", "drop ", "forget ", "ditch ", "scrap "),
            rf"(?:skip|drop|forget(?: about)?|ditch|scrap) (?:the|that|this|all) [^,.]{{3,60}}, (?:just |and "
            rf"|please )?(?:just |rather |only )?{_DO}\b .{{3,}}",
        ),
        SpokenRule(
            "en.this_not_that",
            "correction",
            0.5,
            (" not ",),
            r"(?!(?:it|is|this|that|does|do|still|why|but|i|we|you|he|she|they|probably|of|maybe|sure|works?|am|are"
            r"|was|were|has|have|just|really|what|if|or|and)\b)"
            r"[\w.`'/-]{1,40}(?: [\w.`'/-]{1,40}){0,2},? not (?!working|sure|found|yet|really|only|good|bad|a"
            r" )[\w.`'/-]{1,40}(?: [\w.`'/-]{1,40}){0,2}[.!]*$",
            is_alone=True,
        ),
        SpokenRule(
            "en.instead_of",
            "correction",
            0.65,
            ("instead of", "rather than", "in place of"),
            rf"{_WHERE}(?:let'?s |you should |we should |it should |just |i want you to |can you please |could you"
            rf" please )?{_MEANS}\b.{{2,160}}?\b(?:instead of|rather"
            r" than|in place of)\b.{2,}",
        ),
        SpokenRule(
            "en.instead_first",
            "correction",
            0.65,
            ("instead",),
            rf"instead(?: of [^,]{{3,120}})?,? (?:please |just |let'?s |you should |we should )?{_DO}\b.{{3,}}",
            with_before=True,
        ),
        SpokenRule(
            "en.instead_last",
            "correction",
            0.6,
            ("instead",),
            rf"(?:let'?s |you should |we should |it should |just )?{_DO}\b.{{2,160}}\binstead[.!]*$",
        ),
        SpokenRule(
            "en.is_wrong",
            "correction",
            0.65,
            (
                "wrong",
                "incorrect",
                "not right",
                "not correct",
                "not true",
                "isn't right",
                "isn't correct",
                "backwards",
                "outdated",
            ),
            r".{0,80}?(?:\bis|\bare|'s|\bwas|\blooks?|\bisn'?t|\byou(?: \w+)? (?:got|have))\b.{0,30}?(?:wrong"
            r"|incorrect|not right|not correct|not true|right"
            r"|correct|backwards|outdated)\s*(?:[,;:—–-]+|\band\b|\bsince\b|\bbecause\b)\s*(?:it|that|this|the|they"
            r"|we|use|you should|there|in) ?\b.{5,}",
        ),
        SpokenRule(
            "en.is_wrong_next",
            "correction",
            0.6,
            ("wrong", "incorrect", "not right", "not correct", "not true", "isn't right", "isn't correct"),
            r"(?:that|this|it|the [\w`. -]{2,40}|[\w`.]{2,40})(?:'s| is| was| looks| isn'?t)(?: still| just|"
            r" completely| totally)? (?:wrong|incorrect|not right"
            r"|not correct|not true|right|correct)[.!]*$",
            with_next=True,
        ),
        SpokenRule(
            "en.actually",
            "correction",
            0.6,
            ("actually",),
            rf"(?:no,? |wait,? )?actually,? (?:please |just |let'?s |you should |we should )?(?:don'?t|do not|{_DO}"
            rf"|(?:it'?s|it is|that'?s) (?:in|on|at|called"
            r"|from|under|not)|it should|that should|the \S+ (?:is|should|lives|goes|file|name)|we (?:use|don'?t"
            r"|want|need|should))\b.{3,}",
        ),
        SpokenRule(
            "en.should_not_but",
            "correction",
            0.6,
            ("should",),
            rf".{{1,80}}?\b(?:should(?:n'?t| not| never)|must(?:n'?t| not| never))\b.{{2,120}}?(?:[,;]"
            rf"|\bbut\b)\s*(?:it |they )?(?:use|should|must|instead|rather|only"
            rf"|just|but|{_DO})\b.{{2,}}",
        ),
        SpokenRule(
            "en.should_be_not",
            "correction",
            0.6,
            ("should", "must"),
            r"(?:it|this|that|these|those|they|the [\w`. -]{2,40}|[\w`.()]{2,40}) (?:should|must)\b(?: \w+)?"
            r" .{2,100}?(?:,? not\b|,? instead of\b|,? rather than\b).{2,}",
        ),
        SpokenRule(
            "en.should_not_next",
            "correction",
            0.55,
            ("should not", "shouldn't", "shouldnt"),
            r"(?:the |that |this |it |you |[\w`.()]{2,40} ).{0,60}?should(?:n'?t| not)\b.{4,}",
            with_next=True,
        ),
        SpokenRule(
            "en.i_meant",
            "correction",
            0.6,
            ("i meant", "i said", "i asked", "i told", "actually meant", "mostly meant", "i wanted"),
            r"(?:[^,.?]{2,60}, )?(?:no,? )?(?:(?:but )?what )?i (?:actually |really |mostly |just |clearly "
            r"|explicitly )?(?:meant|said|asked (?:you )?(?:for|to)|told you(?: to)?)\b(?! that i\b)"
            r".{4,}",
        ),
        SpokenRule(
            "en.not_but",
            "correction",
            0.6,
            ("not ",),
            rf"{_WHERE}(?:(?:it'?s|its|that'?s|it is|that is|this is|i want|we want|we use|it means|it goes|the"
            rf" [\w`.-]{{2,40}} (?:is|are|goes|lives|belongs))"
            r"\b(?:.{0,100}?\bnot\b(?! (?:just|only|sure)\b).{2,80}?\bbut\b|.{3,100}?,? not\b(?! (?:sure|just|only"
            r"|yet|too|the end|bad|great|a big|that|really|quite|always)\b)).{2,}"
            r"|(?:just )?(?:use|call|name|put|catch|get|return|mock|run|make it|store|pass|import)\b(?:(?! (?:if"
            r"|when|that|is|are|does|should|which|so|because)\b)[^,.]){2,60},? not"
            r"\b(?! (?:if|yet|only|sure)\b) ?.{2,80})",
        ),
        SpokenRule(
            "en.service",
            "place",
            0.7,
            ("localhost", "127.0.0.1", "0.0.0.0", "port "),  # noqa: S104 - words to look for
            r"(?:the |our |my |a )?[\w /'`.-]{2,60}?\b(?:runs?|is running|listens?|lives|is (?:available|served"
            r"|reachable|up|exposed|at|on)|is hosted|starts)\b.{0,60}?"
            r"(?:(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::\d{2,5})?|\bport \d{2,5}\b).{0,120}",
        ),
    ),
    lead_ins=(
        r"(?:(?:ok(?:ay)?|oh|ah|hmm*|well|yeah|yes|yep|so|and|also|but|btw|by the way|please|hey(?: \w{2,12})?"
        r"|hi(?: \w{2,12})?|alright|sorry|wait|great|nice|cool"
        r"|perfect|good|thanks|thank you|one more thing|one thing|another thing|important|urgent|asap|note|fyi|pls"
        r"|plz|then|now|first|second|finally|quick (?:note|thing)"
        r"|again|lol|dude|my dude|man|right|sure|fine|fair enough|for the \d\w{2} time|as i said|like i said"
        r"|reminder)(?:[,.:;!—–-]+\s*|\s+))"
    ),
    questions=(
        r"(?:can|could|would|should|shall|may|will|do(?! not\b)|does|did|is|are|was|were|am|has|have|had|what|why|how"
        r"|who|where|when (?:do|did|is|are|will|should)|which|isn'?t|aren'?t"
        r"|don'?t (?:you|we|i)|doesn'?t|wouldn'?t|shouldn'?t (?:we|it|this|that|you|i)|won'?t|any (?:idea|reason)"
        r"|wonder\w*|i wonder)\b"
    ),
    doubtful=(
        r"\b(?:maybe|perhaps|might|what if|i wonder|wondering|suppose|supposing|i guess|i'?m not sure|not sure|in"
        r" theory|hypothetical\w*|would it|could we|should we|for example"
        r"|e\.g\.|imagine|pretend|possibly|presumably|would be (?:nice|better|cool)|i think (?:we|you) could|if i"
        r" were)\b"
    ),
    reported=(
        r"\b(?:he|she|they|the (?:docs?|documentation|error|reviewer|comment|spec|readme|article|linter|message"
        r"|output|bot|customer|user|issue|page|warning|log)|copilot|coderabbit|people)"
        r" (?:said|says?|told|tells|suggests?|claims?|recommends?|complains?|wants?|prefers?|mentions?|states?)\b"
        r"|\baccording to\b|\bquote:"
    ),
    refusal=r"(?:no|nope|nah|wrong|incorrect|not quite|no no)[.!]*$",
    orders=(
        rf"(?:always|never|don'?t|do not|please|only|no |not to|to |i (?:like|want|prefer|hate|always|never|use"
        rf"|don'?t|dislike)|we (?:use|always|never|prefer|don'?t|only|want|do not)"
        rf"|you (?:must|should|can|have|need|may)|{_DO} |when (?:you|we|i|\w+ing)\b|whenever|before (?:you|\w+ing)"
        rf"|after (?:you|\w+ing)|all \w+ (?:must|should)|every \w+ (?:must|should)"
        r"|tests? (?:must|should)|commits? (?:must|should))"
    ),
    here=(
        r"\b(?:this|our|the) (?:repo(?:sitory)?|project|codebase|code base|monorepo|package|module|app|service"
        r"|branch|team|test suite|tests|pipeline|backend|frontend|server|database"
        r"|schema|api|cli|website|site|build|staging|production|deploy\w*|ci)\b|\bin this file\b|\b(?:staging"
        r"|production|prod|ci)\b"
    ),
    urgent=r"\b(?:urgent(?:ly)?|asap|immediately|right away|critical|blocker|blocking|before (?:the )?release)\b",
    important=r"\b(?:important|high prio(?:rity)?|crucial|must not forget|soon)\b",
)
