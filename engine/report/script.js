"use strict";
(() => {
	const make = (tag, cls, text) => {
		const e = document.createElement(tag);
		if (cls) e.className = cls;
		if (text !== undefined) e.textContent = text;
		return e;
	};
	const button = (text, act) => {
		const b = make("button", "", text);
		b.type = "button";
		b.addEventListener("click", act);
		return b;
	};
	const search = (label, act) => {
		const l = make("label", "", label + " "), i = make("input");
		i.type = "search";
		i.addEventListener("input", () => act(i.value.trim().toLowerCase()));
		l.append(i);
		return l;
	};
	const choice = (label, options, act) => {
		const l = make("label", "", label + " "), s = make("select");
		for (const [value, text] of options) {
			const o = make("option", "", text);
			o.value = value;
			s.append(o);
		}
		s.addEventListener("change", () => act(s.value));
		l.append(s);
		return l;
	};
	const status = () => {
		const p = make("p", "more");
		p.setAttribute("role", "status");
		return p;
	};
	const copy = (text, say) => {
		const done = ok => { say.textContent = ok ? "Copied." : "The browser did not allow copying."; };
		if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done(true), () => done(false));
		else done(false);
	};

	// The link of the open tab says so.
	const links = [...document.querySelectorAll("nav.tabs a")];
	const mark = () => {
		const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
		const open = target && target.closest(".tab");
		for (const a of links) {
			if (a.hash === "#" + (open ? open.id : "summary")) a.setAttribute("aria-current", "page");
			else a.removeAttribute("aria-current");
		}
	};
	addEventListener("hashchange", mark);
	mark();

	// Pictures that can be larger or smaller.
	for (const svg of document.querySelectorAll(".drawing svg")) {
		const w = svg.viewBox.baseVal.width, h = svg.viewBox.baseVal.height, bar = make("div", "tools");
		let scale = 1;
		const zoom = by => () => {
			scale = by ? Math.min(4, Math.max(0.25, scale * by)) : 1;
			svg.setAttribute("width", Math.round(w * scale));
			svg.setAttribute("height", Math.round(h * scale));
		};
		for (const [text, label, by] of [["+", "Zoom in", 1.25], ["−", "Zoom out", 0.8], ["1:1", "Original size", 0]]) {
			const b = button(text, zoom(by));
			b.setAttribute("aria-label", label + ": " + svg.querySelector("title").textContent);
			bar.append(b);
		}
		svg.parentElement.before(bar);
	}

	// Events, found by their text.
	const events = [...document.querySelectorAll(".event")];
	if (events.length > 1) {
		const say = status(), bar = make("div", "tools");
		let texts;
		bar.append(search("Search events", q => {
			texts = texts || events.map(e => e.textContent.toLowerCase());
			let n = 0;
			events.forEach((e, i) => { e.hidden = !texts[i].includes(q); n += !e.hidden; });
			say.textContent = q ? n + " of " + events.length + " events" : "";
		}));
		events[0].before(bar, say);
	}

	// The call tree: only the rows in sight are elements.
	const data = document.getElementById("frames"), old = document.querySelector(".tree");
	if (!data || !old) return;
	const { s: S, r: R, d: D } = JSON.parse(data.textContent), H = 26;
	const [DEPTH, PATH, OP, FROM, FROMAT, TO, TOAT, CALL, OUTCOME, GAS, OWN, VALUE, WHY, ARGS, DETAIL] = [...Array(15).keys()];
	const N = R.length, parent = new Int32Array(N), end = new Int32Array(N), open = new Uint8Array(N), keep = new Uint8Array(N);
	const stack = [];
	for (let i = 0; i < N; i++) {
		while (stack.length > R[i][DEPTH]) end[stack.pop()] = i;
		parent[i] = stack.length ? stack[stack.length - 1] : -1;
		stack.push(i);
	}
	while (stack.length) end[stack.pop()] = N;
	const columns = { all: [PATH, OP, FROM, FROMAT, TO, TOAT, CALL, VALUE, WHY, ARGS], address: [FROM, FROMAT, TO, TOAT], function: [CALL] };
	const texts = {};
	const textsOf = scope => texts[scope] = texts[scope] || R.map(r => columns[scope].map(c => S[r[c]]).join(" ").toLowerCase());
	let query = "", scope = "all", shown = [], chosen = -1;

	const say = status(), tools = make("div", "tools"), list = make("div", "calls"), rows = make("div", "calls-rows"), detail = make("div", "detail");
	list.setAttribute("role", "tree");
	list.setAttribute("aria-label", "Call tree");
	list.tabIndex = 0;
	rows.setAttribute("role", "presentation");
	list.append(rows);
	detail.setAttribute("role", "region");
	detail.setAttribute("aria-label", "Chosen call");

	const expand = depth => { for (let i = 0; i < N; i++) open[i] = R[i][DEPTH] < depth; };
	const refresh = () => {
		shown = [];
		let hits = 0;
		if (query) {
			const t = textsOf(scope);
			keep.fill(0);
			for (let i = 0; i < N; i++) {
				if (!t[i].includes(query)) continue;
				hits++;
				keep[i] = 2;
				for (let p = parent[i]; p >= 0 && !keep[p]; p = parent[p]) keep[p] = 1;
			}
			for (let i = 0; i < N; i++) if (keep[i]) shown.push(i);
		} else {
			for (let i = 0; i < N; i = open[i] ? i + 1 : end[i]) shown.push(i);
		}
		say.textContent = query ? hits + " of " + N + " lines match" : "";
		rows.style.height = Math.max(shown.length, 1) * H + "px";
		list.style.height = Math.min(Math.max(shown.length, 1) * H + 2, 620) + "px";
		draw();
	};
	const part = (row, cls, text) => { if (text) row.append(make("span", cls, text), " "); };
	const draw = () => {
		const first = Math.max(0, Math.floor(list.scrollTop / H) - 8), last = Math.min(shown.length, first + Math.ceil(640 / H) + 16);
		rows.textContent = "";
		for (let k = first; k < last; k++) {
			const i = shown[k], r = R[i], row = make("div", "callrow");
			row.id = "call-" + i;
			row.setAttribute("role", "treeitem");
			row.setAttribute("aria-level", r[DEPTH] + 1);
			row.setAttribute("aria-selected", i === chosen);
			if (end[i] > i + 1) row.setAttribute("aria-expanded", !!(query || open[i]));
			if (query && keep[i] === 2) row.classList.add("hit");
			if (r[OUTCOME]) row.classList.add(r[OUTCOME] === 1 ? "failed" : "undone");
			row.style.top = k * H + "px";
			row.style.paddingLeft = 8 + Math.min(r[DEPTH], 24) * (innerWidth < 641 ? 7 : 14) + "px";
			row.append(make("span", "twist", end[i] > i + 1 ? (query || open[i] ? "▾" : "▸") : r[GAS] < 0 ? "•" : " "));
			part(row, "op", S[r[OP]]);
			part(row, "label", S[r[TO]]);
			part(row, "fn", S[r[CALL]]);
			part(row, "soft", S[r[ARGS]] && "(" + S[r[ARGS]] + ")");
			part(row, "value", S[r[VALUE]]);
			part(row, "why", S[r[WHY]] && "✗ " + S[r[WHY]]);
			if (r[GAS] >= 0) row.append(make("span", "spent", r[GAS].toLocaleString("en") + (r[OWN] >= 0 && r[OWN] !== r[GAS] ? " (" + r[OWN].toLocaleString("en") + " own)" : "")));
			rows.append(row);
		}
		if (chosen >= 0 && document.getElementById("call-" + chosen)) list.setAttribute("aria-activedescendant", "call-" + chosen);
		else list.removeAttribute("aria-activedescendant");
	};
	const fact = (dl, name, value) => { if (value) dl.append(make("dt", "", name), make("dd", "", value)); };
	const explain = i => {
		const r = R[i], d = D && D[r[DETAIL]], dl = make("dl", "facts"), said = status();
		detail.textContent = "";
		detail.append(make("h3", "", (S[r[OP]] + " " + S[r[CALL]]).trim()), dl);
		fact(dl, "Frame", S[r[PATH]]);
		fact(dl, "From", (S[r[FROM]] + " " + S[r[FROMAT]]).trim());
		fact(dl, "To", (S[r[TO]] + " " + S[r[TOAT]]).trim());
		fact(dl, "Value", S[r[VALUE]]);
		if (r[GAS] >= 0) fact(dl, "Gas", r[GAS].toLocaleString("en") + (r[OWN] >= 0 ? ", " + r[OWN].toLocaleString("en") + " of it its own" : ""));
		fact(dl, "Failed", S[r[WHY]]);
		if (!d) {
			if (r[DETAIL] < 0 && S[r[ARGS]]) fact(dl, "Arguments", S[r[ARGS]]);
		} else {
			for (const a of d.a || []) fact(dl, ((S[a[0]] || "unnamed") + " " + S[a[1]]).trim(), S[a[2]] + (a[3] ? " = " + S[a[3]] : ""));
			if (d.n) fact(dl, "More arguments", String(d.n));
			for (const o of d.o || []) fact(dl, "Returned " + S[o[0]], S[o[1]] + (o[2] ? " = " + S[o[2]] : ""));
			if (d.i) {
				const raw = make("details"), pre = make("pre", "", d.i + (d.c ? "\n" + d.c + " more bytes are not in this report" : ""));
				pre.tabIndex = 0;
				raw.append(make("summary", "", r[GAS] < 0 ? "Raw data" : "Raw calldata"), pre);
				detail.append(raw);
			}
		}
		detail.append(button("Copy this call", () => copy(detail.querySelector("h3").textContent + "\n" + [...dl.children].map(e => e.textContent + (e.tagName === "DT" ? ": " : "\n")).join("") + (d && d.i ? "Calldata: " + d.i + "\n" : ""), said)), said);
	};
	const choose = k => {
		if (k < 0 || k >= shown.length) return;
		chosen = shown[k];
		if (k * H < list.scrollTop) list.scrollTop = k * H;
		else if ((k + 1) * H > list.scrollTop + list.clientHeight) list.scrollTop = (k + 1) * H - list.clientHeight;
		explain(chosen);
		draw();
	};
	const fold = (i, to) => {
		if (query || end[i] === i + 1 || open[i] === to) return;
		open[i] = to;
		refresh();
	};
	list.addEventListener("scroll", draw, { passive: true });
	list.addEventListener("click", ev => {
		const row = ev.target.closest(".callrow");
		if (!row) return;
		const i = Number(row.id.slice(5));
		if (ev.target.classList.contains("twist")) fold(i, open[i] ? 0 : 1);
		choose(shown.indexOf(i));
	});
	list.addEventListener("keydown", ev => {
		const k = shown.indexOf(chosen), go = {
			ArrowDown: () => choose(k + 1), ArrowUp: () => choose(Math.max(k - 1, 0)), Home: () => choose(0), End: () => choose(shown.length - 1),
			PageDown: () => choose(Math.min(k + 20, shown.length - 1)), PageUp: () => choose(Math.max(k - 20, 0)),
			ArrowRight: () => { if (chosen >= 0 && !open[chosen]) fold(chosen, 1); else choose(k + 1); },
			ArrowLeft: () => { if (chosen >= 0 && open[chosen] && end[chosen] > chosen + 1) fold(chosen, 0); else if (chosen >= 0) choose(shown.indexOf(parent[chosen])); },
			Enter: () => { if (chosen >= 0) fold(chosen, open[chosen] ? 0 : 1); },
		}[ev.key];
		if (!go || ev.ctrlKey || ev.metaKey || ev.altKey) return;
		ev.preventDefault();
		go();
	});
	const depths = [...Array(Math.min(R.reduce((m, r) => Math.max(m, r[DEPTH]), 0), 12)).keys()].map(d => [d + 1, String(d + 1)]);
	tools.append(
		search("Search calls", q => { query = q; list.scrollTop = 0; refresh(); }),
		choice("in", [["all", "all text"], ["address", "addresses"], ["function", "functions"]], v => { scope = v; refresh(); }),
		...(depths.length ? [choice("Expand to depth", [["", "…"], ...depths], v => { if (v) { expand(Number(v)); refresh(); } })] : []),
		button("Expand all", () => { expand(1e9); refresh(); }),
		button("Collapse all", () => { expand(0); list.scrollTop = 0; refresh(); }),
		button("Copy lines", () => copy(shown.map(i => "  ".repeat(R[i][DEPTH]) + [OP, TO, CALL, VALUE, WHY].map(c => S[R[i][c]]).filter(Boolean).join(" ")).join("\n"), say)),
	);
	expand(N > 40 ? 3 : 1e9);
	for (let i = 0; i < N; i++) if (R[i][OUTCOME] === 1) for (let p = parent[i]; p >= 0; p = parent[p]) open[p] = 1;
	old.replaceWith(tools, say, list, detail);
	const rest = document.getElementById("tree-rest"), more = JSON.parse(data.textContent).m;
	if (rest) rest.hidden = true;
	if (more) detail.after(make("p", "more", more.toLocaleString("en") + " more lines are not in this report."));
	refresh();
	addEventListener("resize", draw);
})();
