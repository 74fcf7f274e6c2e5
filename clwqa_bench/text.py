"""The comparison key: the one normal form in which names and answers are compared.

Two strings name the same thing when their keys are equal.  Nothing else in this project normalises text.
"""

from __future__ import annotations

import re
import unicodedata

KEY_VERSION = 1

# Traditional and variant characters and the simplified form they are folded to, one pair after the other.
# Only characters with a single simplified counterpart stand here (乾, 徵, 著 and their like do not), so the
# fold needs no context and can be applied character by character.
_FOLDS = """
愛爱 礙碍 罷罢 備备 筆笔 畢毕 邊边 變变 標标 賓宾 參参 倉仓 產产 長长 嘗尝 車车 塵尘 陳陈 稱称 誠诚
遲迟 齒齿 蟲虫 處处 傳传 創创 純纯 詞词 從从 錯错 達达 帶带 單单 當当 黨党 導导 燈灯 敵敌 遞递 電电
釣钓 調调 東东 動动 獨独 讀读 斷断 對对 隊队 奪夺 墮堕 鵝鹅 惡恶 兒儿 爾尔 發发 罰罚 飛飞 廢废 費费
墳坟 憤愤 糞粪 風风 鳳凤 婦妇 復复 複复 負负 該该 蓋盖 趕赶 岡冈 剛刚 綱纲 鋼钢 閣阁 個个 給给 貢贡
溝沟 顧顾 關关 觀观 館馆 慣惯 廣广 歸归 龜龟 貴贵 國国 過过 還还 漢汉 號号 賀贺 鶴鹤 紅红 後后 壺壶
護护 華华 畫画 話话 懷怀 壞坏 歡欢 環环 換换 揮挥 輝辉 會会 穢秽 渾浑 貨货 禍祸 獲获 擊击 機机 積积
雞鸡 鷄鸡 極极 幾几 計计 記记 紀纪 際际 濟济 繼继 價价 堅坚 間间 監监 減减 簡简 見见 劍剑 劒剑 漸渐
將将 講讲 膠胶 驕骄 嬌娇 較较 階阶 節节 潔洁 結结 誡诫 緊紧 錦锦 進进 盡尽 經经 驚惊 靜静 鏡镜 競竞
舊旧 舉举 懼惧 絕绝 覺觉 軍军 開开 課课 墾垦 懇恳 誇夸 塊块 寬宽 礦矿 虧亏 蘭兰 欄栏 爛烂 勞劳 樂乐
淚泪 類类 離离 禮礼 裏里 裡里 麗丽 歷历 曆历 厲厉 勵励 連连 聯联 憐怜 簾帘 練练 戀恋 糧粮 涼凉 兩两
遼辽 獵猎 鄰邻 臨临 靈灵 齡龄 領领 劉刘 龍龙 樓楼 蘆芦 爐炉 陸陆 錄录 亂乱 論论 羅罗 邏逻 駱骆 綠绿
馬马 罵骂 買买 賣卖 滿满 貓猫 門门 們们 夢梦 彌弥 綿绵 麵面 廟庙 滅灭 鳴鸣 銘铭 謀谋 畝亩 難难 腦脑
鬧闹 內内 擬拟 鳥鸟 寧宁 農农 濃浓 諾诺 歐欧 盤盘 賠赔 噴喷 鵬鹏 騙骗 貧贫 憑凭 樸朴 齊齐 騎骑 豈岂
啟启 氣气 棄弃 遷迁 錢钱 潛潜 淺浅 槍枪 牆墙 墻墙 強强 搶抢 橋桥 親亲 輕轻 傾倾 請请 慶庆 窮穷 瓊琼
區区 軀躯 趨趋 權权 勸劝 確确 羣群 讓让 熱热 認认 榮荣 軟软 銳锐 潤润 灑洒 賽赛 掃扫 殺杀 傷伤 賞赏
燒烧 紹绍 設设 攝摄 紳绅 審审 聲声 勝胜 聖圣 師师 詩诗 時时 實实 識识 駛驶 勢势 視视 試试 飾饰 適适
釋释 壽寿 獸兽 書书 輸输 屬属 術术 樹树 豎竖 雙双 誰谁 順顺 說说 説说 絲丝 飼饲 頌颂 訟讼 誦诵 蘇苏
訴诉 肅肃 雖虽 隨随 歲岁 孫孙 損损 筍笋 縮缩 鎖锁 態态 壇坛 談谈 歎叹 嘆叹 湯汤 濤涛 討讨 騰腾 題题
體体 條条 鐵铁 聽听 廳厅 頭头 圖图 塗涂 團团 彎弯 萬万 網网 韋韦 違违 圍围 爲为 為为 偉伟 偽伪 僞伪
衛卫 謂谓 溫温 聞闻 穩稳 問问 無无 吳吴 蕪芜 務务 誤误 霧雾 習习 襲袭 細细 戲戏 戯戏 蝦虾 俠侠 峽峡
狹狭 嚇吓 鮮鲜 賢贤 銜衔 閑闲 閒闲 顯显 險险 縣县 現现 線线 憲宪 獻献 鄉乡 響响 項项 嚮向 蕭萧 曉晓
嘯啸 協协 脅胁 寫写 謝谢 釁衅 興兴 兇凶 繡绣 鏽锈 許许 緒绪 續续 軒轩 懸悬 選选 學学 勳勋 尋寻 訓训
訊讯 遜逊 壓压 鴉鸦 鴨鸭 亞亚 煙烟 鹽盐 嚴严 顏颜 閻阎 豔艳 艷艳 厭厌 硯砚 驗验 揚扬 楊杨 陽阳 養养
樣样 堯尧 搖摇 謠谣 遙遥 藥药 爺爷 業业 葉叶 頁页 醫医 遺遗 儀仪 蟻蚁 義义 議议 藝艺 億亿 憶忆 異异
譯译 陰阴 飲饮 隱隐 銀银 應应 鷹鹰 蠅蝇 營营 贏赢 擁拥 傭佣 詠咏 優优 憂忧 猶犹 遊游 郵邮 誘诱 漁渔
魚鱼 與与 語语 獄狱 譽誉 禦御 淵渊 園园 圓圆 緣缘 遠远 願愿 約约 躍跃 閱阅 雲云 運运 雜杂 災灾 載载
贊赞 讚赞 臟脏 鑿凿 棗枣 責责 則则 擇择 澤泽 賊贼 贈赠 齋斋 債债 戰战 張张 帳帐 賬账 趙赵 貞贞 針针
偵侦 陣阵 鎮镇 爭争 證证 鄭郑 織织 職职 執执 質质 紙纸 誌志 幟帜 終终 鐘钟 鍾钟 锺钟 種种 眾众 衆众
晝昼 諸诸 豬猪 燭烛 築筑 駐驻 鑄铸 專专 轉转 磚砖 莊庄 裝装 壯壮 狀状 墜坠 準准 濁浊 資资 縱纵 總总
鄒邹 組组 鑽钻 峯峰 羨羡 牀床 鶯莺 薦荐 殘残 蠶蚕 慚惭 慘惨 燦灿 滄沧 側侧 測测
"""
_FOLD = str.maketrans({pair[0]: pair[1] for pair in _FOLDS.split()})

_MIDDLE_DOTS = str.maketrans(dict.fromkeys("•‧∙⋅●・･᛫⸱", "·"))
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
_CHARACTERS: dict[int, int | str | None] = {**_FOLD, **_MIDDLE_DOTS, **_INVISIBLE}
_OUTER = "\"'`´‘’‚‛“”„‟«»‹›「」『』﹁﹂﹃﹄《》〈〉〝〞〟。．.,，、､;；:：!！?？…⋯—―–~～〜·_ \t\n"
_BRACKETS = {"(": ")", "[": "]", "{": "}", "【": "】", "〔": "〕", "〖": "〗"}
_CJK = r"\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_CJK_SPACE = re.compile(rf"(?<=[{_CJK}])\s+(?=[{_CJK}])")
_SPACE = re.compile(r"\s+")


def comparison_key(text: str) -> str:
    """The form of ``text`` that is compared: total, idempotent, and empty only if ``text`` shows nothing.

    NFKC; invisible characters dropped; traditional and variant characters folded; case folded; middle dots
    made one; white space between CJK characters removed and reduced to one space elsewhere; quotes, book
    marks and punctuation around the whole stripped, unless nothing would be left.
    """
    while (key := _pass(text)) != text:  # one step may prepare another (case folding, then NFKC)
        text = key
    return key


def _pass(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate(_CHARACTERS).casefold()
    text = _SPACE.sub(" ", _CJK_SPACE.sub("", text)).strip()
    return _unwrap(text.strip(_OUTER)) or text


def _unwrap(text: str) -> str:
    """Remove brackets that enclose the whole; those around a part belong to the name."""
    close = _BRACKETS.get(text[:1])
    if close is None or not text.endswith(close) or text.count(close) != 1:
        return text
    return text[1:-1]
