"""Spanish, French, Portuguese, Russian, Chinese and Japanese: remember, always, never, from now on, and "no, use …"."""

from __future__ import annotations

from typing import Final

from recollect.insights.learnings.extraction.languages.rule import Language, Meaning, SpokenRule

_NONE: Final = r"(?!)"
"""Matches nothing."""


def _language(code: str, *rules: tuple[str, str, tuple[str, ...]], words: dict[str, str]) -> Language:
    """Return a language of few rules. words: `Language`'s expressions, those that are missing match nothing."""
    meanings: dict[str, tuple[Meaning, float]] = {
        "remember": ("explicit", 0.8),
        "from_now_on": ("rule", 0.7),
        "always": ("rule", 0.65),
        "prefer": ("rule", 0.65),
    }
    made = []
    for name, pattern, cues in rules:
        meaning, weight = meanings.get(name, ("correction", 0.65))
        made.append(SpokenRule(f"{code}.{name}", meaning, weight, cues, pattern))
    names = ("lead_ins", "questions", "doubtful", "reported", "refusal", "orders", "here", "urgent", "important")
    return Language(code, tuple(made), **{name: words.get(name, _NONE) for name in names})


OTHERS: Final = (
    _language(
        "es",
        (
            "remember",
            r"(?:recuerda|recordad|acu[ée]rdate(?: de)?|ten en cuenta|no olvides)(?:\s*[:,]\s*| )(?:que |siempre"
            r" que )?(?P<said>.{6,})",
            ("recuerda", "recordad", "erdate", "en cuenta", "olvides"),
        ),
        (
            "from_now_on",
            r"(?:a partir de (?:ahora|hoy)|de ahora en adelante|en el futuro)[,:]?\s+(?P<said>.{6,})",
            ("a partir de", "en adelante", "en el futuro"),
        ),
        (
            "always",
            r"(?:por favor,? )?(?:(?:debes|tienes que|quiero que|usa|usamos|haz|ejecuta|escribe) )?(?:siempre|nunca"
            r"|jamás)\b .{5,}",
            ("siempre", "nunca", "jamás"),
        ),
        ("prefer", r"(?:prefiero|preferimos)\b .{4,}", ("prefiero", "preferimos")),
        (
            "no_but",
            r"no\s*[,;:.!—-]+\s*(?:mejor |por favor )?(?P<said>(?:usa|utiliza|pon|haz|no |debe|deber[ií]a|es "
            r"|est[aá] |quita|deja|cambia|borra|ejecuta|escribe)\b.{2,})",
            ("no,", "no.", "no:", "no;", "no!"),
        ),
        (
            "instead_of",
            r"(?:usa|utiliza|pon|haz|ejecuta|escribe)\b.{2,140}?\b(?:en lugar de|en vez de)\b.{2,}",
            ("en lugar de", "en vez de"),
        ),
        words={
            "lead_ins": r"(?:(?:ok|vale|bueno|bien|y|pero|por favor|oye|hola|gracias|además|importante)[,.:;!]*\s+)",
            "questions": r"(?:¿|puedes|podrías|qué|por qué|cómo|cuál|es |deberíamos)",
            "doubtful": r"\b(?:quizás?|tal vez|a lo mejor|podríamos|no estoy segur[oa])\b",
            "reported": r"\b(?:dice|dijo|según)\b",
            "orders": r"(?:siempre|nunca|usa|no |debes|hay que|prefiero|usamos|ejecuta|haz|escribe)",
            "here": r"\b(?:este|nuestro) (?:repo\w*|proyecto|código)\b",
            "urgent": r"\burgente\b",
            "important": r"\bimportante\b",
        },
    ),
    _language(
        "fr",
        (
            "remember",
            r"(?:souviens-toi|rappelle-toi|retiens|garde en t[eê]te|n'oublie pas)(?:\s*[:,]\s*| )(?:bien )?(?:que "
            r"|qu'|de )?(?P<said>.{6,})",
            ("souviens", "rappelle-toi", "retiens", "garde en t", "oublie pas"),
        ),
        (
            "from_now_on",
            r"(?:[àa] partir de maintenant|d[ée]sormais|dor[ée]navant|[àa] l'avenir)[,:]?\s+(?P<said>.{6,})",
            ("partir de maintenant", "sormais", "dor", "l'avenir"),
        ),
        (
            "always",
            r"(?:s'il te pla[iî]t,? )?(?:(?:tu dois|il faut|utilise|fais|lance|écris|mets|on utilise|je veux que"
            r" tu) )?(?:ne |n')?(?:\w+ )?(?:toujours|jamais)\b .{5,}",
            ("toujours", "jamais"),
        ),
        ("prefer", r"(?:je pr[ée]f[èe]re|nous pr[ée]f[ée]rons)\b .{4,}", ("je pr", "nous pr")),
        (
            "no_but",
            r"non\s*[,;:.!—-]+\s*(?:plut[oô]t |s'il te pla[iî]t )?(?P<said>(?:utilise|mets|fais|ne |n'|il faut"
            r"|c'est|laisse|enl[eè]ve|change|supprime|lance|écris|prends)\b.{2,})",
            ("non",),
        ),
        (
            "instead_of",
            r"(?:utilise|mets|fais|lance|écris|prends)\b.{2,140}?\b(?:au lieu de|plut[oô]t que|à la place de)\b.{2,}",
            ("au lieu d", "plutôt que", "plutot que", "la place d"),
        ),
        words={
            "lead_ins": r"(?:(?:ok|bon|bien|et|mais|alors|salut|merci|s'il te pla[iî]t|important|au fait)[,.:;!]*\s+)",
            "questions": r"(?:peux-tu|pourrais-tu|est-ce|qu'est|pourquoi|comment|quel|devrait-on|faut-il)",
            "doubtful": r"\b(?:peut-être|pourrait|je ne suis pas sûre?)\b",
            "reported": r"\b(?:il dit|selon|d'après)\b",
            "orders": r"(?:toujours|jamais|utilise|ne |n'|tu dois|il faut|je pr|on utilise|nous utilisons|lance"
            r"|fais|écris)",
            "here": r"\b(?:ce|notre) (?:d[ée]p[oô]t|repo|projet|code)\b",
            "urgent": r"\burgent\b",
            "important": r"\bimportant\b",
        },
    ),
    _language(
        "pt",
        (
            "remember",
            r"(?:lembre-se|lembra|lembre|tenha em mente|não (?:se )?esqueça)(?:\s*[:,]\s*| )(?:de )?(?:que"
            r" )?(?P<said>.{6,})",
            ("lembr", "em mente", "esque"),
        ),
        (
            "from_now_on",
            r"(?:a partir de (?:agora|hoje)|daqui (?:para|pra) frente|de agora em diante|no"
            r" futuro)[,:]?\s+(?P<said>.{6,})",
            ("a partir de", "frente", "em diante", "no futuro"),
        ),
        (
            "always",
            r"(?:por favor,? )?(?:(?:você deve|use|usamos|faça|execute|rode|escreva|quero que) )?(?:sempre|nunca"
            r"|jamais)\b .{5,}",
            ("sempre", "nunca", "jamais"),
        ),
        ("prefer", r"(?:eu )?(?:prefiro|preferimos)\b .{4,}", ("prefiro", "preferimos")),
        (
            "no_but",
            r"não\s*[,;:.!—-]+\s*(?:melhor |por favor )?(?P<said>(?:use|usa|coloque|faça|não |deve|deveria|é |está "
            r"|tire|deixe|mude|rode|escreva)\b.{2,})",
            ("não", "nao"),
        ),
        (
            "instead_of",
            r"(?:use|usa|coloque|faça|rode|escreva)\b.{2,140}?\b(?:em vez de|ao invés de|no lugar de)\b.{2,}",
            ("em vez d", "ao invés d", "no lugar d"),
        ),
        words={
            "lead_ins": r"(?:(?:ok|bom|bem|e|mas|então|oi|obrigad[oa]|por favor|importante|aliás)[,.:;!]*\s+)",
            "questions": r"(?:você pode|pode|poderia|o que|por que|como|qual|devemos)",
            "doubtful": r"\b(?:talvez|poderíamos|não tenho certeza)\b",
            "reported": r"\b(?:ele disse|diz|segundo)\b",
            "orders": r"(?:sempre|nunca|use|não |você deve|temos que|prefiro|usamos|rode|faça|escreva|execute)",
            "here": r"\b(?:neste|nesse|este|nosso) (?:repo\w*|projeto|código)\b",
            "urgent": r"\burgente\b",
            "important": r"\bimportante\b",
        },
    ),
    _language(
        "ru",
        (
            "remember",
            r"(?:запомни(?:те)?|имей(?:те)? в виду|не забудь(?:те)?|учти(?:те)?|помни(?:те)?)(?:\s*[:,—-]\s*|"
            r" )(?:что )?(?P<said>.{6,})",
            ("запомни", "в виду", "забудь", "учти", "помни"),
        ),
        (
            "from_now_on",
            r"(?:с этого момента|отныне|впредь|в будущем|теперь всегда)[,:]?\s+(?P<said>.{6,})",
            ("с этого момента", "отныне", "впредь", "в будущем", "теперь всегда"),
        ),
        (
            "always",
            r"(?:пожалуйста,? )?(?:(?:ты должен|нужно|мы|используй|запускай|пиши|делай) )?(?:всегда|никогда)\b .{5,}",
            ("всегда", "никогда"),
        ),
        ("prefer", r"(?:я )?предпочита(?:ю|ем)\b .{4,}", ("предпочита",)),
        (
            "no_but",
            r"(?:нет|не так)\s*[,;:.!—-]+\s*(?:лучше |пожалуйста )?(?P<said>(?:используй|сделай|не |надо|нужно"
            r"|должн|это |поставь|убери|оставь|запусти|запускай|пиши|возьми).{2,})",
            ("нет", "не так"),
        ),
        ("instead_of", r"(?:используй|сделай|поставь|возьми|запускай|пиши)\b.{2,140}?\bвместо\b.{2,}", ("вместо",)),
        words={
            "lead_ins": r"(?:(?:ок|хорошо|и|но|ну|а|так|да|привет|спасибо|пожалуйста|важно|кстати)[,.:;!]*\s+)",
            "questions": r"(?:можешь|можно ли|что|почему|как |какой|стоит ли|нужно ли)",
            "doubtful": r"\b(?:может быть|возможно|наверное|не уверен)\b",
            "reported": r"\b(?:он сказал|говорит|согласно)\b",
            "orders": r"(?:всегда|никогда|используй|не |нужно|надо|предпочита|мы используем|запускай|делай|пиши)",
            "here": r"\b(?:этом|нашем|в этом) (?:репо\w*|проекте|коде)\b",
            "urgent": r"\bсрочно\b",
            "important": r"\bважно\b",
        },
    ),
    _language(
        "zh",
        (
            "remember",
            r"(?:请)?(?:记住|記住|请记得|记得|牢记|别忘了)[:：,，]?\s*(?P<said>.{4,})",
            ("记住", "記住", "记得", "牢记", "别忘了"),
        ),
        (
            "from_now_on",
            r"(?:从现在开始|從現在開始|从现在起|以后|今后|往后)[:：,，]?\s*(?P<said>(?:请|都|不要|别|要|所有|每次|一律|只|用|统一|先|必须|写|提交|回复|回答).{3,})",
            ("从现在", "從現在", "以后", "今后", "往后"),
        ),
        (
            "always",
            r"(?:请|我们|你要|你应该|提交前|测试)?(?:总是|一律|始终|永远不要|永远|绝不要|绝对不要|从不|务必)\s*.{3,}",
            ("总是", "一律", "始终", "永远", "绝不要", "绝对不要", "从不", "务必"),
        ),
        ("prefer", r"我(?:们)?(?:更)?(?:喜欢|偏好|倾向于?)\s*.{3,}", ("喜欢", "偏好", "倾向")),
        (
            "no_but",
            r"(?:不对|不是|不|错了|不行)[,，。!！:：;；]\s*(?:请|应该|要|改成|改用)?\s*(?P<said>(?:用|使用|改|应该|应当|不要|别|是|要|放|写|删|换).{2,})",
            ("不对", "不是", "不,", "不，", "错了", "不行"),
        ),
        (
            "instead_of",
            r"(?:请)?(?:不要|别)用?.{1,60}?[,，]\s*(?:请)?(?:要|而是|用|改用|使用|换成).{1,}|(?:请)?用.{1,60}?(?:代替|而不是|替代|取代).{1,}",
            ("不要", "别", "代替", "而不是", "替代", "取代"),
        ),
        words={
            "lead_ins": r"(?:(?:好的?|嗯|另外|还有|重要|请注意|谢谢|那)[,，。:：!！\s]+)",
            "questions": r"(?:能不能|可以|是否|为什么|怎么|什么|哪|能否|要不要|吗)",
            "doubtful": r"(?:也许|可能|或许|如果可以|不确定)",
            "reported": r"(?:他说|文档说|据说|根据)",
            "orders": r"(?:不许|禁止|严禁|总是|永远|不要|别|请|要|用|使用|必须|一律|所有|我们用|我们使用|提交前|先|只)",
            "here": r"(?:这个|本|我们的?)(?:项目|仓库|代码)",
            "urgent": r"(?:紧急|马上|立刻)",
            "important": r"重要",
        },
    ),
    _language(
        "ja",
        (
            "remember",
            r"(?P<said>.{4,}?)(?:ことを|を|と|、)?(?:覚えて(?:おいて)?(?:ください|ね|下さい)?|忘れないで(?:ください|ね)?)[。!！]?$",
            ("覚えて", "忘れないで"),
        ),
        ("from_now_on", r"(?:今後は?|これからは?|以降は?)[、,]?\s*(?P<said>.{4,})", ("今後", "これから", "以降")),
        (
            "always",
            r".{0,40}?(?:常に|いつも|必ず|絶対に|決して)\s*.{3,}(?:ください|下さい|こと|する|ないで|しない|使う|ます|して)[。!！]?$",
            ("常に", "いつも", "必ず", "絶対に", "決して"),
        ),
        (
            "prefer",
            r".{1,60}?(?:のほうが|方が|を)(?:好み|好き|いい|良い)(?:です|だ)?[。!！]?$",
            ("好み", "好き", "ほうがいい", "方がいい", "方が良い"),
        ),
        (
            "no_but",
            r"(?:いや|いいえ|違う|違います|そうじゃなくて|ではなく)[、,。!！]\s*(?P<said>.{3,}(?:使って|ください|にして|して|ないで|です|だ|こと)[。!！]?)$",
            ("いや", "いいえ", "違", "そうじゃなく"),
        ),
        (
            "instead_of",
            r".{1,60}?(?:ではなく|じゃなくて|の代わりに)[、,]?\s*.{1,60}?(?:使って|使う|にして|して|ください|で)[。!！]?.{0,10}$",
            ("ではなく", "じゃなくて", "の代わりに"),
        ),
        words={
            "lead_ins": r"(?:(?:はい|ええと|あと|また|それと|重要|ありがとう)[、,。:：!！\s]+)",
            "questions": r"(?:なぜ|どうして|どう|何|どれ)",
            "doubtful": r"(?:かもしれ|たぶん|もしかして|でしょうか)",
            "reported": r"(?:と言って|によると|だそうです)",
            "orders": r".{0,80}(?:ください|下さい|こと|すること|しない|ないで|使う|して)",
            "here": r"(?:この|本|私たちの)(?:プロジェクト|リポジトリ|コード)",
            "urgent": r"(?:至急|すぐに)",
            "important": r"重要",
        },
    ),
)
