import { createApp } from "vue";
import "wordloom/element"; // registers <word-loom>
import App from "./app.vue";

createApp(App).mount("#app");
