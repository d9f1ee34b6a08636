// Sends the request of a form on the documentation page of the API, and shows the address and the answer as text.
"use strict";
for (const form of document.querySelectorAll("form.api")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let path = form.dataset.path;
    const parameters = new URLSearchParams();
    for (const input of form.querySelectorAll("input[name]")) {
      if (!input.value) continue;
      const place = `{${input.name}}`;
      if (path.includes(place)) path = path.replace(place, encodeURIComponent(input.value));
      else parameters.append(input.name, input.value);
    }
    const more = form.querySelector("input[data-more]");
    if (more && more.value) for (const [name, value] of new URLSearchParams(more.value)) parameters.append(name, value);
    const address = parameters.size ? `${path}?${parameters}` : path;
    const shown = form.querySelector(".api-answer");
    shown.hidden = false;
    shown.textContent = `GET ${address}\n…`;
    try {
      const answer = await fetch(address);
      const text = await answer.text();
      let body = text;
      try { body = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: shown as it is */ }
      shown.textContent = `GET ${address}\n${answer.status}\n\n${body.slice(0, 20000)}`;
    } catch (error) {
      shown.textContent = `GET ${address}\n${error}`;
    }
  });
}
