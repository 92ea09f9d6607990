#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page of `sbx-audit report`, driven in a browser: tabs, keys, filter, details, the tree of paths, both
# colour schemes. What it draws is looked at by its elements.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit
fresh
git init -q . && mkdir -p .git/hooks src/deep && echo 1 >src/deep/f
launch -qq -- bash -c 'for i in $(seq 60); do echo $i >f$i; done; cat src/deep/f; (cd src && /bin/true here); (echo k >.git/hooks/x) 2>/dev/null; exit 3'
launch -qq -- bash -c 'for i in $(seq 60); do echo $i >f$i; done; cat src/deep/f; (cd src && /bin/true here); (echo k >.git/hooks/x; echo k >.git/hooks/y) 2>/dev/null; exit 3'
"$AUDIT" report -o "$TMP/plain.html"
cat >"$TMP/drive.html" <<'EOP'
<pre id="said"></pre><script>
const said = (name, value) => { $("said").textContent += name + ": " + value + "\n"; };
const key = k => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
const texts = q => [...main.querySelectorAll(q)].map(e => e.textContent);
const type = async q => { $("filter").value = q; $("filter").dispatchEvent(new Event("input")); await new Promise(r => setTimeout(r, 400)); };
const open = () => $("more").style.display === "block" ? $("more").textContent : "";
(async () => {
	said("dark", matchMedia("(prefers-color-scheme: dark)").matches + " " + getComputedStyle(document.body).backgroundColor + " " + getComputedStyle(document.body).color);
	said("first", tab);
	for (const k of "123456") { key(k); said("key " + k, tab + " " + document.querySelector("nav [aria-selected=true]").dataset.tab + " " + (main.textContent.length > 0)); }
	key("2");
	said("changes", texts(".row").filter(t => /^[AM]  \.\/f\d/.test(t)).length > 10);
	said("space", main.firstChild.style.height);
	key("3");
	said("denials", texts(".card code.bad").join(", "));
	said("novelty", texts(".card .dim").filter(t => /run before/.test(t)).join(", "));
	said("copies", main.querySelectorAll(".card button").length);
	key("4");
	said("processes", texts(".proc > div:first-child").map(t => t.replace(/\d+/, "N").trim().replace(/ for i.*/, "")).join(", "));
	said("place", [...main.querySelectorAll(".proc > div")].some(e => /\nin \.\/src\n/.test(e.title)));
	said("bars", [...main.querySelectorAll(".bar i")].every(i => parseFloat(i.style.left) >= 0 && parseFloat(i.style.width) <= 100.01));
	key("5");
	const all = shown.length;
	key("j"); key("j"); key("k"); key("Enter");
	said("selected", sel + " " + texts(".row.sel").length + " " + /^seq: \d+\nts: /.test(open()));
	key("Escape");
	said("closed", open() === "");
	for (let i = 0; i < 200; i++) key("j");
	said("scrolled", main.scrollTop > 0 && sel === Math.min(200, all - 1));
	key("/");
	said("focus", document.activeElement === $("filter"));
	key("1");
	said("typing is no command", tab);
	await type("hooks");
	said("filtered", shown.length + " " + texts(".row").every(t => t.includes("hooks")));
	await type("/\\/F1[0-9] /");
	said("regex", shown.length >= 10 && shown.length < all);
	await type("modify -hooks");
	said("without", shown.length > 0 && texts(".row").every(t => !t.includes("hooks")));
	await type("/(/");
	said("half a regex changes nothing", shown.length > 0);
	$("filter").focus();
	key("Escape");
	said("all again", shown.length === all && $("filter").value === "");
	key("6");
	const top = texts("button.proc > div:first-child").map(t => t.split("  ")[0]);
	const way = [];
	for (let b; (b = [...main.querySelectorAll("button.proc:not(:disabled)")].find(b => /^(\.|src|deep) /.test(b.textContent)));) { way.push(b.textContent.split("  ")[0]); b.click(); }
	said("zoomed", way.join("/") + " " + texts("button.proc > div:first-child").map(t => t.split("  ")[0]).join(","));
	key("Backspace");
	said("up", zoom.join("/"));
	main.querySelector(".crumbs button").click();
	said("top", zoom.length === 0 && texts("button.proc > div:first-child").map(t => t.split("  ")[0]).join() === top.join());
	said("end", "reached");
})();
</script>
EOP
sed "/<\/body>/{
r $TMP/drive.html
N
}" "$TMP/plain.html" >"$TMP/page.html"
browse() # OUT OPTIONS...
{
	timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMP/chromium" --window-size=900,600 \
		--virtual-time-budget=20000 "${@:2}" --dump-dom "file://$TMP/page.html" 2>/dev/null |
		sed -n '/<pre id="said">/,/<\/pre>/{s/.*<pre id="said">//;/<\/pre>/d;p}' >"$1"
}
browse "$TMP/light" --blink-settings=preferredColorScheme=1
if [ ! -s "$TMP/light" ]; then
	skip 'the page, driven' 'no chromium that starts here'
	exit 0
fi
said() # NAME VALUE
{
	grep -qxF -e "$1: $2" "$TMP/light" || { cat "$TMP/light"; false; }
}
check 'it goes to its end' said end reached
check 'it begins with what was refused' said first Denials
i=0
for tab in Summary Changes Denials Processes Events Paths; do
	i=$((i + 1))
	check "key $i: $tab" said "key $i" "$tab $tab true"
done
check 'changes are listed' said changes true
check 'what is new among the refusals comes first' said denials 'modify ./.git/hooks/y, modify ./.git/hooks/x'
check 'and says so' said novelty 'new: not in the run before, as in the run before'
check 'the option that opens each can be copied' said copies 2
check 'processes stand below each other' said processes 'N  bash -c, N  seq 60, N  cat src/deep/f, N  /bin/true here'
check 'with the place where they began' said place true
check 'and a line of time' said bars true
check 'j, k and Enter: an event with all its fields' said selected '0 1 true'
check 'Escape closes it' said closed true
check 'a list scrolls along' said scrolled true
check '/ leads to the filter' said focus true
check 'where keys are letters' said 'typing is no command' Events
check 'a word filters' eval 'grep -qE "^filtered: [1-9][0-9]* true$" "$TMP/light"'
check 'a regular expression, whatever its letters' said regex true
check 'a word with a dash takes away' said without true
check 'half an expression changes nothing' said 'half a regex changes nothing' true
check 'Escape takes the filter away' said 'all again' true
check 'paths are zoomed into' eval 'grep -qE "^zoomed: \./src/deep f$" "$TMP/light" || { cat "$TMP/light"; false; }'
check 'and out of, by key' said up './src'
check 'and by the line above' said top true
check 'it is light where that is wanted' eval 'grep -q "^dark: false rgb(251, 251, 250) " "$TMP/light"'
browse "$TMP/dark" --blink-settings=preferredColorScheme=0
check 'and dark where that is' eval 'grep -q "^dark: true rgb(22, 24, 27) rgb(228, 229, 231)$" "$TMP/dark" || { cat "$TMP/dark"; false; }'
check 'it asks nobody for anything' eval "grep -q \"Content-Security-Policy\\\" content=\\\"default-src 'none';\" \"$TMP/plain.html\""
