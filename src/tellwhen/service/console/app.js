// The page: the form for the key, or one of four views, by the address: #test, #subscriptions, #live, #dashboard.
import { view as dashboard } from "./dashboard.js";
import { view as live } from "./live.js";
import { $ } from "./page.js";
import { get, key, news, Silent } from "./service.js";
import { view as subscriptions } from "./subscriptions.js";
import { view as test } from "./tester.js";

const VIEWS = { test, subscriptions, live, dashboard };
const RETRY_SECONDS = 5;

let current = null;
let given = null; // data that one view passes to the next
let isStarted = false;

// signing in

async function start() {
  try {
    begin(await get("v1"));
  } catch (error) {
    if (error.status === 401) signIn();
    else if (error.status === 403) signIn(error.message);
    else if (!(error instanceof Silent)) trouble(error.message);
  }
}

function begin(about) {
  const roles = about.roles.length < 3 ? [`may ${about.roles.join(" and ")}`] : [];
  const parts = [`tenant ${about.tenant}`, ...roles, `version ${about.version}`];
  $("about").textContent = parts.map((one) => one.replaceAll(" ", "\u00a0")).join(" · "); // so that lines break only between the parts
  $("sign-in").hidden = true;
  $("sign-out").hidden = !key.get();
  $("views").hidden = false;
  if (!isStarted) for (const view of Object.values(VIEWS)) view.start(about, { go });
  isStarted = true;
  route();
}

function signIn(message = key.get() ? "The service no longer knows this key." : "") {
  leave();
  for (const name of Object.keys(VIEWS)) $(`view-${name}`).hidden = true;
  $("views").hidden = true;
  $("sign-in").hidden = false;
  $("key-error").textContent = message;
  $("key").focus();
}

$("key-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const secret = $("key").value.trim();
  const error = $("key-error");
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    error.textContent = "A key has only letters, digits and punctuation, and no spaces.";
    return;
  }
  error.textContent = "";
  try {
    const about = await get("v1", { secret });
    key.set(secret);
    $("key").value = "";
    if (isStarted) location.reload(); // it may see other subscriptions
    else begin(about);
  } catch (refused) {
    error.textContent = refused.status === 401 ? "The service does not know this key." : refused.message;
    $("key").select();
  }
});

$("sign-out").addEventListener("click", () => {
  key.forget();
  location.reload();
});

news.addEventListener("refused", () => {
  if (isStarted && $("sign-in").hidden) signIn();
});

// views

function leave() {
  if (current) VIEWS[current].hide();
  current = null;
}

function route() {
  if (!isStarted || !$("sign-in").hidden) return;
  const wanted = location.hash.slice(1); // not the id of an element, or the browser would scroll to it
  const name = wanted in VIEWS ? wanted : "test";
  const isFirst = current === null;
  leave();
  current = name;
  for (const other of Object.keys(VIEWS)) $(`view-${other}`).hidden = other !== name;
  for (const link of $("views").children) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${$(`${name}-title`).textContent} · tellwhen`;
  VIEWS[name].show(given);
  given = null;
  if (!isFirst) $(`${name}-title`).focus({ preventScroll: true });
}

function go(name, handed) {
  given = handed;
  if (location.hash === `#${name}`) route();
  else location.hash = name;
  scrollTo({ top: 0 });
}

window.addEventListener("hashchange", route);
$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names a view
  $("main").focus();
});

// a service that does not respond

let retrying;

function trouble(message) {
  $("trouble").firstElementChild.textContent = message;
  $("trouble").hidden = false;
}

async function again() {
  clearTimeout(retrying);
  retrying = undefined;
  if (!isStarted) return start();
  try {
    await get("v1");
    if (current) VIEWS[current].show(null);
  } catch {
    // the page shows the error already
  }
}

news.addEventListener("silent", () => {
  trouble(new Silent().message);
  retrying ??= setTimeout(again, RETRY_SECONDS * 1000);
});
news.addEventListener("answering", () => {
  $("trouble").hidden = true;
  clearTimeout(retrying);
  retrying = undefined;
});
$("trouble").querySelector("button").addEventListener("click", again);

// colours

$("theme").value = document.documentElement.dataset.theme ?? "system";
$("theme").addEventListener("change", (event) => {
  const wanted = event.target.value;
  if (wanted === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
  try {
    if (wanted === "system") localStorage.removeItem("tellwhen-theme");
    else localStorage.setItem("tellwhen-theme", wanted);
  } catch {
    // storage is switched off, so the choice is not stored
  }
});

start();
