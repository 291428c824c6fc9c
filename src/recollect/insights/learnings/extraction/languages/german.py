"""German."""

from __future__ import annotations

from typing import Final

from recollect.insights.learnings.extraction.languages.rule import Language, SpokenRule

_DO: Final = (
    r"(?:nimm|nehmt|nutze?|verwende?|benutze?|schreibe?|mache?|setze?|lege?|packe?|lass|entferne?|lösche?|rufe?"
    r"|füge?|prüfe?"
    r"|teste?|starte?|führe?|gib|zeige?|lies|halte?|bleibe?|antworte?|erkläre?|frage?|committe?|pushe?|formatiere?"
    r"|nenne?"
    r"|benenne?|ersetze?|ändere?|baue?|installiere?|mocke?|importiere?|speichere?|sortiere?|vermeide?|achte?"
    r"|arbeite?|stelle?"
    r"|tu|erstelle?|kopiere?|trenne?|logge?)"
)
_LASTING: Final = r"(?:immer|nie(?:mals)?|grundsätzlich|stets|ausschließlich|generell|prinzipiell)"

GERMAN: Final = Language(
    "de",
    (
        SpokenRule(
            "de.remember",
            "explicit",
            0.85,
            ("merk", "vergiss nicht", "gedächtnis", "denk dran", "denk daran", "behalte", "notiere", "zur erinnerung"),
            r"(?:merke? dir(?: bitte)?(?: für (?:später|die zukunft|das nächste mal|nächstes mal|dieses"
            r" projekt))?(?:\s*[:,–—-]\s*(?:dass )?| dass )"
            r"|(?:behalte?|notiere?)(?: dir)?(?: bitte)?(?: im (?:kopf|hinterkopf|gedächtnis))?(?:\s*[:,]\s*(?:dass"
            r" )?| dass )"
            r"|(?:denk(?:e)? (?:bitte )?(?:immer )?(?:daran|dran)|vergiss (?:bitte )?nicht)(?:\s*[:,]\s*(?:dass )?)"
            r"|(?:zur erinnerung|fürs gedächtnis|für die zukunft|fürs nächste mal)\s*[:,–—-]\s*)(?P<said>.{6,})",
        ),
        SpokenRule(
            "de.remember_this",
            "explicit",
            0.8,
            ("merk", "behalt", "vergiss", "denk", "notier"),
            r"(?:und )?(?:bitte )?(?:merke? dir (?:bitte )?(?:das|dies)|behalte? (?:dir )?(?:bitte )?(?:das|dies)"
            r"(?: bitte)? im (?:kopf|hinterkopf|gedächtnis)|vergiss (?:bitte )?(?:das|es) nicht"
            r"|denke? (?:bitte )?dara?n"
            r"|notiere? dir (?:bitte )?das)"
            r"(?: bitte)?(?: für (?:später|die zukunft|das nächste mal|nächstes mal))?(?: bitte)?[.!]*$",
            with_before=True,
        ),
        SpokenRule(
            "de.said_remember",
            "explicit",
            0.8,
            ("merk", "vergiss"),
            r"(?P<said>.{6,260}?)\s*[,;–—-]\s*(?:und )?(?:bitte )?(?:merke? dir (?:bitte )?(?:das|dies)|vergiss"
            r" das nicht)(?: bitte)?[.!]*$",
        ),
        SpokenRule(
            "de.from_now_on",
            "rule",
            0.75,
            ("ab jetzt", "ab sofort", "in zukunft", "zukünftig", "künftig", "von nun an", "ab heute", "fortan"),
            r"(?:ab (?:jetzt|sofort|heute)|in zukunft|zukünftig|künftig|von (?:nun|jetzt) an"
            r"|fortan)[,:]?\s+(?P<said>.{6,})",
        ),
        SpokenRule(
            "de.to_the_future",
            "rule",
            0.7,
            (
                "ab jetzt",
                "ab sofort",
                "in zukunft",
                "zukünftig",
                "künftig",
                "von nun an",
                "nächstes mal",
                "beim nächsten mal",
            ),
            rf"(?P<said>(?:bitte |{_DO} |keine? |nur |wir |kein )(?:.{{3,160}}?)(?:ab jetzt|ab sofort|in zukunft"
            rf"|zukünftig|künftig|von nun an).{{0,100}})",
        ),
        SpokenRule(
            "de.next_time_how",
            "rule",
            0.65,
            ("nächstes mal", "nächste mal", "beim nächsten mal", "nächsten mal"),
            rf"(?:nächstes mal|das nächste mal|beim nächsten mal),? (?:bitte )?(?P<said>(?:{_DO}|erst|zuerst|vorher"
            rf"|nicht|kein|nur|solltest du|musst du)\b.{{4,}})",
        ),
        SpokenRule(
            "de.always",
            "rule",
            0.7,
            ("immer", "nie", "grundsätzlich", "stets", "ausschließlich", "generell", "prinzipiell"),
            rf"(?:bitte |du (?:sollst|solltest|musst|darfst) |{_DO} (?:bitte |dafür |hier |mich |dir |das |die |den"
            rf" )?|(?:bei uns|hier) |wir \w{{3,16}} |ich (?:will|möchte|hätte) |"
            rf"[\w -]{{2,60}}? (?:wird|werden|kommt|kommen|gehört|gehören|steht|stehen|schreiben wir|machen wir"
            rf"|nutzen wir|verwenden wir|nehmen wir)"
            rf" (?:bei uns |hier |bitte |wir )?)?(?:{_LASTING})\b(?! (?:noch|wieder|mehr$|gesehen|passiert"
            rf"|gewusst)\b).{{5,}}",
        ),
        SpokenRule(
            "de.prefer",
            "rule",
            0.7,
            ("bevorzug", "lieber", "am liebsten", "ziehe", "präferier"),
            r"(?:(?:ich|wir) (?:bevorzugen?|präferieren?|mag|mögen|hätten?|nutzen?|verwenden?|nehmen?|schreiben?"
            r"|arbeiten?|will|wollen|ziehen?)\b.{0,80}?(?:lieber|am liebsten|bevorzug\w*"
            r"|präferier\w*|vor\b)|(?:ich|wir) (?:bevorzugen?|präferieren?)|bevorzuge?).{4,}",
        ),
        SpokenRule(
            "de.in_this_repo",
            "rule",
            0.7,
            ("in diesem", "in unserem", "bei uns", "in dem projekt", "im projekt", "konvention", "hier im"),
            rf"(?:(?:in (?:diesem|unserem|dem)|hier im|im) (?:repo(?:sitory)?|projekt|team|paket|code)|bei uns"
            rf"|unsere (?:konvention|regel)(?: hier)? (?:ist|lautet)[:,]?)\s+(?:\w+ ){{0,3}}?"
            rf"(?:(?:nutzen|verwenden|nehmen|benutzen|schreiben|machen|committen|testen|bauen|arbeiten|wollen|wird"
            rf"|werden|gilt|bitte|nur|kein\w*|nie|immer|dass)\b|{_DO}\b).{{3,}}",
        ),
        SpokenRule(
            "de.we_use",
            "rule",
            0.6,
            ("wir nutzen", "wir verwenden", "wir benutzen", "wir nehmen", "wir setzen", "wir arbeiten"),
            r"wir (?:nutzen|verwenden|benutzen|nehmen|setzen|arbeiten)\b.{2,160}(?:,? nicht\b|\bstatt\b|\banstatt\b"
            r"|\banstelle\b|\bhier\b|\bimmer\b|\bnur\b|\büberall\b|\bals \w+|\bfür (?:alle|neue|die|tests)\b"
            r"|,? kein\w*\b).{0,120}",
        ),
        SpokenRule(
            "de.language",
            "rule",
            0.75,
            ("auf deutsch", "auf englisch"),
            r"(?:bitte )?(?:antworte?|schreib|schreibe|sprich|rede|kommentiere?)(?: \w{1,12}){0,4}? auf (?:deutsch"
            r"|englisch)\b.{0,120}",
        ),
        SpokenRule(
            "de.remind",
            "action",
            0.8,
            ("erinner",),
            r"(?:bitte )?erinnere? mich(?: bitte)?(?: (?:später|morgen|nächstes mal|nächste woche|am \w+|beim"
            r" nächsten mal|nachher))?,?(?: daran| dran)?[,:]?\s*(?:dass |an )?(?P<said>.{5,})",
        ),
        SpokenRule(
            "de.still_to_do",
            "action",
            0.7,
            ("zu tun:", "offen:", "noch:", "aus:"),
            r"(?:(?:es )?(?:bleibt|ist)? ?noch (?:zu tun|offen)|bleibt noch|steht noch aus)\s*[:–—]\s*(?!nichts\b)"
            r"(?P<said>.{6,}?)(?:[,;] (?:das |die |den )?(?:hab|lass|verschieb|mach)\w*\b.{0,40})?[.!]*$",
        ),
        SpokenRule(
            "de.todo_later",
            "action",
            0.7,
            ("todo", "to-do", "später:", "für später", "nächste woche:", "morgen:"),
            r"(?:(?:todo|to-do),? (?:für )?(?:später|morgen|nächstes mal|nächste woche|nachher)|(?:für )?später(?:"
            r" noch)?|nächste woche|morgen)\s*[:–—]\s*(?P<said>.{5,})",
        ),
        SpokenRule(
            "de.later",
            "action",
            0.6,
            ("später", "nächstes mal", "nächste woche", "morgen", "irgendwann", "beim nächsten mal", "nachher"),
            r"(?:(?:nächstes mal|beim nächsten mal|nächste woche|morgen|später|irgendwann|nachher) (?:sollten"
            r"|müssen|müssten|wollen) wir |wir (?:sollten|müssen|müssten|wollen) (?:das )?(?:nächstes mal|nächste"
            r" woche"
            r"|morgen|später|irgendwann|nachher) )(?:noch |dann |auch ){0,2}(?P<said>.{5,})",
        ),
        SpokenRule(
            "de.no_but",
            "correction",
            0.7,
            ("nein", "nee", "falsch", "ne,", "quatsch"),
            rf"(?:nein|nee|ne|falsch|quatsch|nicht ganz)\s*[,:;!–—-]+\s*(?:bitte |doch |einfach |stattdessen"
            rf" ){{0,2}}(?P<said>(?:{_DO}|nicht|kein\w*|das (?:soll|muss|ist|gehört|heißt|liegt|kommt|steht)|du"
            rf" sollst|es (?:soll|muss|heißt|ist)"
            r"|wir (?:nutzen|verwenden|nehmen|brauchen|wollen)|(?:der|die|das) [\w`.-]{2,40} (?:soll|muss|gehört"
            r"|heißt|liegt|ist|läuft)|nur )\b.{2,})",
        ),
        SpokenRule(
            "de.refused",
            "correction",
            0.65,
            ("no", "nein", "nee"),
            rf"no\. (?P<said>(?:{_DO}|nicht|kein\w*|wir (?:nutzen|verwenden|nehmen)|das (?:soll|muss|gehört|heißt"
            rf"|liegt|kommt)|du sollst)\b.{{2,}})",
        ),
        SpokenRule(
            "de.stop_doing",
            "correction",
            0.65,
            ("hör auf", "lass das", "lass es"),
            r"(?:bitte )?(?:hör(?:e)? (?:bitte )?(?:endlich )?auf(?: damit)?,? .{3,}|lass (?:das|die|den|bitte das"
            r"|bitte die) .{3,60}? (?:weg|bleiben|sein)\b.{0,80})",
        ),
        SpokenRule(
            "de.instead",
            "correction",
            0.65,
            ("statt", "anstelle"),
            rf"(?:bitte |du sollst |wir sollten |lieber |besser )?(?:{_DO}\b.{{2,160}}?\b(?:statt|anstatt|anstelle"
            rf"|stattdessen)\b.{{0,120}}|(?:statt|anstatt|anstelle)\b.{{3,100}}?,? (?:bitte |lieber"
            rf" )?{_DO}\b.{{2,}})",
        ),
        SpokenRule(
            "de.not_but",
            "correction",
            0.65,
            ("sondern",),
            r".{0,100}?\b(?:nicht|kein\w*)\b.{2,120}?\bsondern\b.{2,}",
        ),
        SpokenRule(
            "de.no_rather",
            "correction",
            0.6,
            ("lieber", "besser", "gefällt mir nicht"),
            rf"(?:bitte )?{_DO}\b.{{2,80}}?\blieber\b.{{2,}}|(?:lieber|besser) {_DO}?\b.{{3,}}",
        ),
        SpokenRule(
            "de.comma_not",
            "correction",
            0.6,
            ("nicht", "kein"),
            rf"(?:bitte )?(?:{_DO}|das (?:ist|heißt|gehört|liegt|kommt|muss|soll)|es (?:heißt|ist|muss|soll)|die?"
            rf" \w+ (?:ist|heißt|liegt|gehört))\b.{{2,100}}?,? (?:und )?nicht\b (?!nur|sicher|so|mehr"
            rf"|schlecht).{{2,}}",
        ),
        SpokenRule(
            "de.dont",
            "correction",
            0.55,
            ("nicht", "kein"),
            rf"(?:bitte )?(?:nicht |keine? |{_DO} (?:bitte |hier |dafür |da )?(?:nicht |keine?n?"
            rf" ))(?!.{{0,160}}\b(?:jetzt|noch nicht|erstmal|vorerst|so schlimm|so wichtig)\b)(?:einfach |immer "
            rf"|mehr )?[\wäöüß-]{{3,}}.{{6,}}",
        ),
        SpokenRule(
            "de.is_wrong",
            "correction",
            0.65,
            ("falsch", "stimmt nicht", "nicht richtig", "nicht korrekt", "verkehrt"),
            r".{0,80}?\b(?:ist|sind|war|stimmt)\b.{0,30}?(?:falsch|nicht richtig|nicht korrekt|verkehrt"
            r"|nicht)\s*[,:;–—-]+\s*(?:es|das|die|der|wir|du|da|richtig|denn|nimm|nutze?) ?\b.{4,}",
        ),
        SpokenRule(
            "de.is_wrong_next",
            "correction",
            0.6,
            ("falsch", "stimmt nicht", "nicht richtig"),
            r"(?:das|es|die|der) ?(?:[\w`. -]{0,40})?(?:ist|sind|stimmt)(?: so| leider| einfach| noch)? (?:falsch"
            r"|nicht richtig|nicht|nicht korrekt)(?: so)?[.!]*$",
            with_next=True,
        ),
        SpokenRule(
            "de.i_meant",
            "correction",
            0.6,
            ("ich meinte", "gemeint", "hatte gesagt", "habe gesagt", "hab gesagt"),
            r"(?:nein,? )?(?:ich meinte|gemeint (?:war|ist)|ich (?:hatte|habe?) (?:doch )?gesagt)\b.{5,}",
        ),
        SpokenRule(
            "de.service",
            "place",
            0.7,
            ("localhost", "127.0.0.1", "0.0.0.0", "port "),  # noqa: S104 - words to look for
            r"(?:der |die |das |unser |unsere )?[\w /'`.-]{2,60}?\b(?:läuft|laufen|lauscht|hört|ist (?:erreichbar"
            r"|verfügbar)|liegt|erreichst du|startet)\b.{0,60}?(?:(?:localhost|127\.0\.0\.1"
            r"|0\.0\.0\.0)(?::\d{2,5})?|\bport \d{2,5}\b).{0,120}",
        ),
    ),
    lead_ins=(
        r"(?:(?:ok(?:ay)?|oh|ah|ach|hm+|naja|ja|jo|so|und|auch|aber|also|übrigens|hey|hi|hallo|sorry|moment|warte"
        r"|super|gut|danke|wichtig|dringend|noch (?:was|etwas|eins)|achtung|dann|jetzt|nochmal"
        r"|mensch|klar|stimmt|passt|schön|prima|hinweis|bitte)(?:[,.:;!–—-]+\s*|\s+))"
    ),
    questions=(
        r"(?:kannst|könntest|könnten|können|würdest|soll(?:en|te|ten)?|darf|ist|sind|hast|hat|haben|was|warum|wieso"
        r"|weshalb|wie|wer|wo|wann|welche[rsmn]?|gibt es|geht|muss ich|müssen wir|willst du)\b"
    ),
    doubtful=r"\b(?:vielleicht|eventuell|evtl|könnten?|was wäre|ich frage mich|angenommen|ich bin (?:mir )?nicht"
    r" sicher|zum beispiel|z\.b\.|würde es|theoretisch|möglicherweise)\b",
    reported=r"\b(?:er|sie|die doku(?:mentation)?|der (?:linter|reviewer|kunde|fehler|artikel)|die (?:meldung"
    r"|fehlermeldung)) (?:sagt|sagte|meint|meinte|schreibt|empfiehlt|behauptet|will)\b|\blaut \w+",
    refusal=r"(?:nein|nee|ne|falsch|quatsch)[.!]*$",
    orders=(
        rf"(?:.{{0,60}}\bbei uns {_LASTING}\b|wir (?:nie|immer)\b|{_LASTING}\b|nicht |kein|nur |bitte |{_DO} |ich"
        rf" (?:will|möchte|mag|bevorzuge|nutze|verwende|arbeite|hasse)|wir (?:nutzen|verwenden|nehmen|bevorzugen"
        rf"|wollen|schreiben|committen|machen|benutzen|arbeiten)"
        r"|du (?:sollst|musst|darfst|sollte)|vor dem|nach dem|bevor|wenn|tests? (?:müssen|sollen)|alle \w+"
        r" (?:müssen|sollen)|commits? (?:müssen|sollen|immer))"
    ),
    here=r"\b(?:(?:in |bei )?(?:diesem|unserem|diese[snmr]?|unsere[snmr]?) (?:repo(?:sitory)?|projekt|paket|code\w*"
    r"|app|service|team|branch|datenbank|pipeline|tests?)|bei uns|im (?:repo|projekt|backend|frontend|team|ci)"
    r"|hier im|staging|produktion)\b",
    urgent=r"\b(?:dringend|sofort|unbedingt|kritisch|blocker|asap|umgehend)\b",
    important=r"\b(?:wichtig|hohe priorität|bald)\b",
)
