/** What the forms of the settings page can do besides, where scripts run: read a file into a field, and copy. */

for (const chooser of document.querySelectorAll("input[type=file][data-into]")) {
  chooser.addEventListener("change", async () => {
    const [file] = chooser.files;
    if (!file) return;
    document.getElementById(chooser.dataset.into).value = await file.text();
    document.getElementById(chooser.dataset.format).value = file.name.toLowerCase().endsWith(".csv") ? "csv" : "yaml";
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
