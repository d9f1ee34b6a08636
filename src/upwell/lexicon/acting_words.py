"""List words that announce a change (delete, buy, post, cancel, sign …), by language, as imperative and infinitive.

ALWAYS      act anywhere: in a path, an argument, a hidden field, a label
AS_A_VERB   are also nouns ("sort order", "blog post", "close relation"): they act only in the position of a verb, that is as the last
            segment of a path, as the value of an operation (`do=close`), or as the first word of a label
NOUNS       members of AS_A_VERB that name columns: as the name of an argument (`order=asc`, `post=12`) they are ignored
PAGES       members of NOUNS that name pages: before an identifier (`/post/12`) they are ignored, too
OBJECTS     objects of these verbs: "close account" acts, "close encounters" is a title
YES_OR_NO   words with which a user answers a consent or age page in front of a site

States ("deleted", "cancelled", "closed") are not listed: sites filter by them.
"""

import unicodedata
from functools import lru_cache

from upwell.lazy import late_pattern

__all__ = [
    "ALWAYS",
    "AS_A_VERB",
    "GLUED",
    "NOUNS",
    "OBJECTS",
    "PAGES",
    "PHRASES",
    "SUBSTRINGS",
    "YES_OR_NO",
    "fold_accents",
]


@lru_cache(16384)
def fold_accents(text: str) -> str:
    """Fold case, accents and width: `löschen`, `LÖSCHEN` and `ｌöschen` become the same text.

    >>> fold_accents("LÖSCHEN"), fold_accents("bağış"), fold_accents("إلغاء") == fold_accents("الغاء")
    ('loschen', 'bagis', True)
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.replace("ı", "i").replace("ß", "ss").replace("ł", "l").replace("ø", "o"))
    return "".join(sign for sign in plain.lower() if unicodedata.category(sign) not in ("Mn", "Cf"))


def _words(text: str) -> frozenset[str]:
    return frozenset(fold_accents(word) for word in text.split())


ALWAYS = _words(
    # English
    "delete undelete remove destroy erase purge wipe trash discard unlink truncate unsubscribe subscribe unfollow cancel terminate "
    "revoke buy purchase checkout donate pay refund unregister deregister deactivate activate approve reject rollback revert undo "
    "logout logoff signout signoff login logon signin signup password cart basket wishlist upvote downvote vote unvote bid edit "
    "uninstall unpublish retweet repost reply ban unban shutdown reboot addtocart confirm mutation wipeout "
    # German
    "löschen loeschen lösche loesche löscht entfernen entferne stornieren storniere kündigen kuendigen kündige abbestellen abonnieren "
    "abonniere kaufen kaufe bestellen bestelle bezahlen spenden abmelden ausloggen anmelden einloggen registrieren warenkorb leeren "
    "bearbeiten abbrechen vernichten widerrufen unterschreiben unterzeichnen veröffentlichen veroeffentlichen abstimmen "
    # French
    "supprimer supprime supprimez effacer effacez retirer annuler annulez résilier acheter achetez payez désinscrire désabonner "
    "abonner abonnez déconnexion déconnecter déconnectez connexion vider videz publier votez panier désactiver "
    # Spanish
    "eliminar elimina borrar borra quitar suprimir cancelar cancela anular comprar compra pagar paga donar suscribir suscribirse "
    "suscríbete desuscribir desuscribirse vaciar vacía firmar publicar votar vota carrito editar edita cerrarsesion desactivar "
    # Italian
    "eliminare cancella cancellare rimuovi rimuovere annulla annullare svuota svuotare comprare acquista acquistare pagare "
    "donare iscriviti abbonati disiscriviti disiscriversi pubblica pubblicare carrello votare disdire disdici "
    # Portuguese
    "excluir exclui exclua apagar apague remover remova cancele compre pague doar assinar assine esvaziar esvazie publique postar "
    "encomendar carrinho vote desinscrever desinscrever-se desativar "
    # Dutch
    "verwijderen verwijder annuleren annuleer opzeggen kopen koop bestel betalen betaal doneren doneer abonneren abonneer "
    "uitschrijven afmelden uitloggen inloggen leegmaken winkelwagen winkelmand bewerken ondertekenen ondertekent stemmen "
    # Russian, Ukrainian
    "удалить удали удалите удаление стереть очистить отменить отмена отмените закрыть закройте купить купи купите заказать оплатить "
    "оплата оплатите пожертвовать подписаться подпишитесь отписаться подписка выйти выход корзина корзину опубликовать подписать "
    "голосовать проголосовать редактировать оформить видалити купити скасувати замовити udalit kupit zakazat oplatit otmenit "
    # Polish
    "usuń usunąć usun skasuj kasuj anuluj opróżnij zamknij kup kupić zamów zamow zamawiam zapłać zaplac wpłać subskrybuj wypisz wyloguj "
    "koszyk koszyka podpisz opublikuj głosuj edytuj zrezygnuj "
    # Turkish
    "silmek kaldır iptal boşalt kapat satın sipariş ödeme bağış bağışla abone çıkış sepet sepete imzala yayınla oyla düzenle "
    # Czech, Swedish, Danish, Norwegian, Indonesian, Vietnamese
    "smazat odstranit zrušit koupit objednat zaplatit odhlásit radera köp köpa beställ betala prenumerera slett slet kjøp køb bestil "
    "hapus beli bayar xóa "
    # Arabic (without the article)
    "حذف احذف إزالة إلغاء ألغ إغلاق أغلق شراء اشتر اشتري دفع ادفع تبرع اشترك اشتراك خروج تفريغ إفراغ وقع توقيع سلة تصويت تعديل "
    # Hebrew, Hindi
    "מחק מחיקה בטל קנה תרום हटाएं खरीदें"
)
AS_A_VERB = _words(
    "order post sign close empty clear add create insert update save send share like follow watch flag report rate comment message join "
    "register reserve accept agree decline dismiss block unblock mute move rename merge lock unlock pin unpin hide restore reset "
    "enable disable stop kill run execute exec invoke drop transfer set change modify switch toggle upgrade downgrade renew return import "
    "payment payments donation donations subscription subscriptions registration exit quit leave finish claim redeem enroll enrol install "
    "forgot put patch favorite favourite bookmark rebuild reindex reload restart trigger write submit-order place-order new-order give "
    "del publish upload voter payer dona doe mua نشر انشر removal deletion cancellation unsubscription signature petition rsvp tip "
    "bestellung spende kündigung kasse schließen schliessen schliesse senden ändern aendern hinzufügen hinzufuegen speichern "
    "posten melden beitreten teilen "
    "commande commander fermer don dons faire-un-don ajouter modifier envoyer poster enregistrer signer signez inscrire inscription "
    "s-inscrire partager "
    "pedir pedido cerrar salir enviar envía añadir agregar modificar guardar baja donación inscribirse "
    "ordina ordinare chiudi chiudere esci paga compra firma aggiungi modifica invia salva donazione condividi "
    "fechar sair enviar adicionar salvar doação inscrever comprar pagamento "
    "sluiten sluit legen wis plaatsen plaats toevoegen verzenden bewaren deel "
    "заказ отправить добавить изменить сохранить "
    "zapisz wyślij dodaj wpłata podpis "
    "sil öde ekle gönder kaydet çık "
    "طلب اطلب إرسال إضافة حفظ"
)
NOUNS = _words(
    "order post sign report rate comment message register return update change run set claim block transfer import drop "
    "tip flag switch signature petition bestellung commande pedido registration subscription subscriptions "
    "payment payments donation donations plaats plaatsen deel firma kasse don inscription podpis заказ طلب"
)
PAGES = _words(
    "post report comment message register return run set claim tip petition signature plaats plaatsen deel firma kasse don inscription "
    "registration podpis"
)
OBJECTS = _words(
    "account accounts all article articles bag basket booking cart comment comments entry event favorites file files friend group image issue item "
    "items it job list me member message messages money newsletter now order orders page payment photo post posts product products profile "
    "question record records reply request review selected session subscription this thread ticket to topic trash up user users video "
    "konto artikel bestellung kommentar compte article commentaire cuenta artículo pedido comentario conto articolo conta item artigo account"
)
# Buttons of a consent or age page: they change only what the site shows.
YES_OR_NO = _words("accept agree approve confirm decline dismiss reject close leave exit quit")
# Phrases that act, though each word alone may not.
PHRASES = late_pattern(
    r"\b(?:(?:log|sign|opt)[ ](?:out|off|up|in|on)|check out|add to|shut down|(?:place|make|new|submit|create|send|confirm|cancel)[ ](?:an? |your |my |the )?"
    r"(?:order|payment|donation|post|comment|reply|message|booking|reservation|bid|offer|request)|"
    r"(?:order|buy|pay|give|donate|book|apply|join|enrol|enroll)[ ]now|"
    r"(?:empty|clear)[ ](?:the |your |my )?(?:cart|basket|bag|trash|bin|all|list)|"
    r"(?:close|leave)[ ](?:the |your |my |this )?(?:account|ticket|issue|case|session|group)|"
    r"post (?:a |your )?(?:comment|reply|review|message|ad|job)|(?:sign|join)[ ](?:the |this |our )?(?:petition|up|mailing list|newsletter)|"
    r"(?:reset|forgot|change|lost)[ ](?:your |my )?password|report (?:abuse|spam|this)|"
    r"(?:kosten|zahlungs)pflichtig|in den warenkorb|jetzt spenden|konto (?:schliessen|loschen)|passer (?:la )?commande|(?:faire|faites) un don|cerrar sesion|"
    r"(?:darse|dar) de baja|(?:hacer|realizar) (?:un )?pedido|invia ordine|terminar sessao|fazer (?:um )?pedido|finalizar compra|afrekenen|"
    r"satin al|uye ol|ta bort|logga ut|log ud)\b"
)
# Letter sequences that act inside a longer word: `deleteitem`, `doLogout` in lower case, `removefromcart`.
GLUED = late_pattern(
    r"delete(?!d)|remove(?!d)|unsubscri|(?<!re)subscribe(?!d|r)|logout|logoff|signout|signoff|checkout|addto(?:cart|basket|bag|list)|buynow|paynow|ordernow|"
    r"donate(?!d)|purchase(?!d)|destroy|cancelorder|cancelsub|placeorder|emptycart|emptytrash|clearcart|closeaccount|postcomment|shoppingcart|"
    r"loeschen|supprimer|eliminar|verwijder|desinscri|desabonn|abbestell|abmelden|warenkorb"
)
# Languages without spaces: matched anywhere in a text.
SUBSTRINGS = late_pattern(
    "删除|刪除|移除|清空|取消|关闭|關閉|购买|購買|下单|下單|订购|訂購|支付|付款|结账|結帳|結賬|捐款|捐赠|捐贈|订阅|訂閱|退订|退訂|发布|發佈|發布|"
    "发表|發表|签署|簽署|退出|登出|注销|註銷|购物车|購物車|投票|提交订单|"
    "削除|消去|取り消|キャンセル|空にする|閉じる|購入|注文|買う|支払|決済|寄付|募金|購読|登録解除|退会|ログアウト|サインアウト|"
    "投稿する|署名する|編集する|カートに|カートへ|買い物かご|解約|申し込|"
    "삭제|제거|비우기|취소|닫기|구매|주문|결제|지불|기부|후원|구독|탈퇴|로그아웃|게시하기|서명|장바구니|투표|해지|"
    "ลบ|ซื้อ|ชำระเงิน"
)
