// Follows a running harvest, and loads filters when they are opened. The pages work without this script.
"use strict";
const live = document.querySelector("[data-live]");
if (live) {
  const events = new EventSource(live.dataset.live);
  events.addEventListener("update", (event) => { live.innerHTML = event.data; });
  events.addEventListener("done", () => { events.close(); location.reload(); });
}
for (const part of document.querySelectorAll("details[data-facet]")) {
  part.addEventListener("toggle", async () => {
    const place = part.querySelector(".facet");
    if (!part.open || place.dataset.done) return;
    place.dataset.done = "yes";
    const answer = await fetch(part.dataset.facet);
    place.innerHTML = answer.ok ? await answer.text() : "";
  });
}
