// Swaps the figures every two seconds; without script the page refreshes as a whole.
const refresh = async () => {
  if (document.hidden) return;
  try {
    const reply = await fetch(new URL("/", location.origin), { cache: "no-store" });
    if (!reply.ok) throw new Error(reply.status);
    const next = new DOMParser().parseFromString(await reply.text(), "text/html");
    document.querySelector("main").replaceWith(next.querySelector("main"));
    document.title = next.title;
    document.body.classList.remove("lost");
  } catch {
    document.body.classList.add("lost");
  }
};
setInterval(refresh, 2000);
